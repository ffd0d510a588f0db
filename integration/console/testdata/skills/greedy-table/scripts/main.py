import hotcell

hotcell.progress(10, "Loading the table")
table = []
while True:
    table.append(bytearray(1 << 20))
