"""Operations in the arithmetic of LiteRT's kernels, where it differs from rescaling exact integers."""
