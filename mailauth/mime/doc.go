// Package mime takes messages apart as they arrive, not as they ought to (RFC 2045, RFC 2046): call [Parts] for
// the leaves of a message.
//
// The body of a message may be a tree. Where its Content-Type is multipart/…, the parameter boundary names a
// line that stands before each part and, with two hyphens more, after the last one:
//
//	Content-Type: multipart/report; boundary="b"
//
//	--b
//	Content-Type: text/plain
//
//	For people.
//	--b
//	Content-Type: application/gzip
//	Content-Transfer-Encoding: base64
//
//	H4sI…
//	--b--
//
// Each part has fields and a body of its own, which may be multipart again. Reports come as such messages, and
// much of what sends them gets something wrong: the last boundary is missing, base64 is broken off, the type is
// one that nobody registered. What can be read is read; only the size of what is read has limits.
package mime
