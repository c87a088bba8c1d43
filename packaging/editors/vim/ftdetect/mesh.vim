au BufRead,BufNewFile *.mesh setfiletype mesh
