"""Trees and alignments for texts that have none, by the tools people use, or without any."""
