"""The parts that importers of all formats share: the block under construction, its nodes, and rows of operators."""
