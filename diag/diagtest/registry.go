package diagtest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A WhoisServer is a running WHOIS server of the world (RFC 3912).
type WhoisServer struct {
	mu      sync.Mutex
	queries []string
}

// Whois opens a WHOIS server. The answers are by the query, in any letter case; a query with options before the name,
// such as "-T dn example.de", is also found by the name alone. The key "" answers all other queries. An answer may be a
// referral, a notice that the client asked too often, [NoReply] or [HangUp].
func (w *World) Whois(host string, answers map[string]string) *WhoisServer {
	s := &WhoisServer{}
	w.Serve(net.JoinHostPort(host, "43"), func(c net.Conn) {
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return
		}
		query := strings.TrimSpace(line)
		s.mu.Lock()
		s.queries = push(s.queries, query)
		s.mu.Unlock()
		switch text := whoisAnswer(answers, query); text {
		case NoReply:
			io.Copy(io.Discard, c)
		case HangUp:
		default:
			io.WriteString(c, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n"))
		}
	})
	return s
}

func whoisAnswer(answers map[string]string, query string) string {
	name := query
	if fields := strings.Fields(query); len(fields) > 0 {
		name = fields[len(fields)-1]
	}
	for _, q := range []string{query, name} {
		for key, text := range answers {
			if strings.EqualFold(key, q) {
				return text
			}
		}
	}
	return cmp.Or(answers[""], "No match.\n")
}

// Queries lists the queries so far.
func (s *WhoisServer) Queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queries)
}

// RDAP opens an RDAP server (RFC 7480). The answers are JSON by the path of the request, such as "/domain/example.com",
// in any letter case. An answer with an "errorCode" has that status (RFC 9083 section 6), one that begins with
// "https://" or "http://" is a redirection to there, and what is not in the table is not found.
func (w *World) RDAP(host string, answers map[string]string) { w.HTTPS(host, rdapHandler(answers)) }

func rdapHandler(answers map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `{"errorCode": 404, "title": "Not Found"}`
		for path, text := range answers {
			if strings.EqualFold(path, r.URL.Path) {
				body = text
			}
		}
		if strings.HasPrefix(body, "https://") || strings.HasPrefix(body, "http://") {
			http.Redirect(w, r, body, http.StatusFound)
			return
		}
		var head struct {
			ErrorCode int `json:"errorCode"`
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		if json.Unmarshal([]byte(body), &head) == nil && 300 <= head.ErrorCode && head.ErrorCode <= 599 {
			w.WriteHeader(head.ErrorCode)
		}
		io.WriteString(w, body)
	})
}
