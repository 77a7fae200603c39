"""Work that other processes do: jobs, who does them, and the folder that keeps what is done."""
