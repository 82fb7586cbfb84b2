"""Files of comparisons, as campaigns publish them: `files` recognises the format and reads them all alike."""
