import urllib.request

import hotcell

hotcell.progress(20, "Asking weather.example")
try:
    urllib.request.urlopen("https://weather.example/today", timeout=20)
except Exception as error:
    hotcell.fail(f"weather.example could not be asked: {error}", "E_WEATHER", False)
