"""The commands ``rypt rank …``."""
