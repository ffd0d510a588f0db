import time

import hotcell

for i in range(1000):
    hotcell.progress(min(99, i * 7), f"Reading part {i}")
    time.sleep(0.3)
