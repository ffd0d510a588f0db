# A collector for a look at traces: it prints the spans that it is sent as JSON (OTEL_EXPORTER_OTLP_PROTOCOL=http/json).
import http.server, json

class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        spans = [s for r in body["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]
        for s in sorted(spans, key=lambda s: int(s["startTimeUnixNano"])):
            ms = (int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])) / 1e6
            print(s["traceId"], s["spanId"], s.get("parentSpanId", "-" * 16), f"{ms:9.2f} ms", s["name"], flush=True)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass

http.server.HTTPServer(("127.0.0.1", 4318), Collector).serve_forever()
