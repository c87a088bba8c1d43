setlocal commentstring=//\ %s
