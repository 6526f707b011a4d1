package diagtest

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/kit"
)

// insides are words of errors of Go's libraries, of databases and of the system, places in the code, and values that
// were printed by mistake. Texts for people say what they mean in other words.
var insides = kit.Regexp(
	`\b(dial|read|write|connect)(ing)? (tcp|udp|unix)|\blookup [\w-]+\.[\w.-]*( on |: )|\bEOF\b|i/o timeout|` +
		`no such host|` +
		`connection reset by peer|broken pipe|use of closed|\bconnect: |ECONN|errno|syscall|` +
		`(no such|bad) file|not a directory|permission denied|no space left|` +
		`\b(open|mkdir|stat|lstat|write|read|link|rename|unlink|chmod|fsync) /|` +
		`context (deadline|canceled)|\bhttp2?: |net/http|malformed HTTP|\*net\.|x509: |crypto/|(^|[^_])\btls: |\bdns: |` +
		`illegal base64|(^|[^._])\b(asn1|xml|csv|bufio|multipart|mime|idna|pem): [a-z]|` +
		`\b(gzip|zip|flate|zlib|png|gif): (invalid|not a|corrupt|too)|structure error|\bparse \\?"|` +
		`\bstrconv\.|\bjson: |invalid character '|unexpected end of JSON|\bsql: |\bpq: |\bERROR: |SQLSTATE|sqlite: |` +
		`runtime error|goroutine|panic|\.go:\d|github\.com/|%!|\b0x[0-9a-f]{8,}|<nil>|&\{|map\[|` +
		`(127\.0\.0\.\d+|\[::1\]):\d`,
)

// shownAround is the length of the context shown on each side of a match.
const shownAround = 60

// Leaks lists the internal details in a text that is shown to users: words of errors of Go's libraries, of a
// database or of the system, positions in the source code, and the address of the operator's resolver. Each
// is listed with its context.
func Leaks(text string) (found []string) {
	for _, at := range insides().FindAllStringIndex(text, -1) {
		found = append(found, fmt.Sprintf("%q in %q", text[at[0]:at[1]],
			text[max(0, at[0]-shownAround):min(len(text), at[1]+shownAround)]))
	}
	return found
}
