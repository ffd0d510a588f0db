n = 0
while True:
    n += 1
    print(f"page {n}: " + "lorem ipsum " * 80)
