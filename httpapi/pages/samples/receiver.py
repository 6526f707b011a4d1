import base64
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))


def verify(headers, body):
    """Whether a delivery was signed with the key, at most five minutes ago."""
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if not timestamp or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    want = b"v1," + base64.b64encode(hmac.digest(KEY, signed, "sha256"))
    signatures = (headers["webhook-signature"] or "").encode().split()
    return any(hmac.compare_digest(signature, want) for signature in signatures)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers["Content-Length"] or 0), 1 << 20))
        if not verify(self.headers, body):
            self.send_error(401, "invalid signature")
            return
        print(self.headers["webhook-id"], body.decode())
        self.send_response(204)
        self.end_headers()


HTTPServer(("localhost", int(os.environ["PORT"])), Receiver).serve_forever()
