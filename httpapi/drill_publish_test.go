//go:build !race

package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// notPublished are suggested values that are no content of a world, by how they begin, with the reason.
var notPublished = map[string]string{
	"openssl ": "a command that makes a new request with a private key, which nobody but its owner has",
}

var (
	spfText   = regexp.MustCompile(`(?i)spf`)
	dmarcText = regexp.MustCompile(`(?i)dmarc\s*1?`)
	dnsLine   = regexp.MustCompile(`^(\S+\.) IN ([A-Z]+) `)
	mxData    = regexp.MustCompile(`^\d+ (\S+\.|\.)$`)
	fieldLine = regexp.MustCompile(`^([A-Za-z-]+): (.*)$`)
)

// publish puts a suggested value where its reader would put it: into the record that was examined, into the DNS, or
// on the site that was judged. It reports whether there is such a place.
func (r *drillRun) publish(before *drillReply, advice diag.Recommendation) bool {
	value := advice.SuggestedValue
	for _, field := range []string{"record", "certificate"} {
		if fieldOf(r.c.request, field) != "" {
			r.c = r.c.asking(field, value)
			return true
		}
	}
	domain := r.c.subject()
	field := fieldLine.FindStringSubmatch(value)
	switch {
	case strings.HasPrefix(value, "v=spf1"):
		r.publishTXT(domain, value, spfText)
	case strings.HasPrefix(value, "v=DMARC1"):
		at := domain
		for up := domain; fieldOf(r.c.request, "domain") != "" && up != ""; _, up, _ = strings.Cut(up, ".") {
			if len(r.records("_dmarc."+up, dns.TypeTXT)) > 0 {
				at = up
				break
			}
		}
		r.publishTXT("_dmarc."+at, value, dmarcText)
	case strings.HasPrefix(value, "v=DKIM1"):
		name := r.keyName(domain, advice.Detail)
		if name == "" {
			return false
		}
		r.publishTXT(name, value, nil)
	case strings.HasPrefix(value, "v=STSv1"):
		r.publishTXT("_mta-sts."+domain, value, nil)
	case strings.HasPrefix(value, "v=TLSRPTv1"):
		r.publishTXT("_smtp._tls."+domain, value, nil)
	case strings.HasPrefix(value, "v=BIMI1"):
		r.publishTXT("default._bimi."+domain, value, nil)
	case strings.HasPrefix(value, "version: STSv1"):
		r.publishPolicy(domain, value)
	case dnsLine.MatchString(value):
		for line := range strings.Lines(value) { // all lines are of one set each
			m := dnsLine.FindStringSubmatch(line)
			r.removeRecords(m[1], dns.StringToType[m[2]], nil)
		}
		r.world.Zone(value)
	case mxData.MatchString(value):
		r.publishMX(domain, value, before, advice)
	case strings.HasPrefix(value, "max-age="):
		return r.edit("https://"+domain+"/", setField("Strict-Transport-Security", value))
	case strings.HasPrefix(value, "<"):
		return r.edit(before.end(domain), inHead(value))
	case field != nil && field[1] == "Allow":
		return r.edit(before.end(domain), allow(value))
	case field != nil && field[1] == "Set-Cookie":
		return r.edit(before.end(domain), setCookie(field[2]))
	case field != nil && strings.HasPrefix(r.c.ep.Name(), "http/"):
		return r.edit(before.end(domain), setField(field[1], field[2]))
	default:
		return false
	}
	return true
}

// end returns the URL at which the redirects of a page end, or the page of the domain if the reply does not state it.
func (d *drillReply) end(domain string) string {
	if v, ok := valueAt(d.all, []string{"final_url"}); ok {
		if text, _ := v.(string); text != "" {
			return text
		}
	}
	return "https://" + domain + "/"
}

// records are those of a name and type, without what leads there.
func (r *drillRun) records(name string, qtype uint16) (list []dns.RR) {
	m, err := r.world.Exchange(r.t.Context(), new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype))
	if err != nil {
		return nil
	}
	for _, rr := range m.Answer {
		if rr.Header().Rrtype == qtype {
			list = append(list, rr)
		}
	}
	return list
}

// keyName returns the name of the DKIM key that an advice is about: at the selector of the request, at one that was
// found and is named, or at the only one.
func (r *drillRun) keyName(domain, detail string) string {
	if selector := fieldOf(r.c.request, "selector"); selector != "" {
		return selector + "._domainkey." + domain
	}
	found := ""
	for _, q := range r.world.Queries() {
		selector, _, ok := strings.Cut(q.Name, "._domainkey."+domain+".")
		if !ok || len(r.records(q.Name, dns.TypeTXT)) == 0 {
			continue
		}
		if found == "" || regexp.MustCompile(`\b`+regexp.QuoteMeta(selector)+`\b`).MatchString(detail) {
			found = strings.TrimSuffix(q.Name, ".")
		}
	}
	return found
}

// removeRecords removes the records of a name and type; text selects some of them, and nil all.
func (r *drillRun) removeRecords(name string, rrtype uint16, text *regexp.Regexp) {
	r.world.Remove(func(rr dns.RR) bool {
		h := rr.Header()
		data := strings.TrimPrefix(rr.String(), h.String())
		return dns.CanonicalName(h.Name) == dns.CanonicalName(name) && (h.Rrtype == rrtype || h.Rrtype == dns.TypeCNAME) &&
			(text == nil || h.Rrtype == dns.TypeCNAME || text.MatchString(data))
	})
}

// publishTXT publishes a text. It takes the place of all other texts of the name, or of those of a kind at the name and,
// but for SPF, next to it, where people publish them by mistake.
func (r *drillRun) publishTXT(name, value string, kind *regexp.Regexp) {
	name += "."
	switch kind {
	case nil:
		r.removeRecords(name, dns.TypeTXT, nil)
	case spfText:
		r.removeRecords(name, dns.TypeTXT, kind)
		r.removeRecords(name, dns.TypeSPF, nil)
	default:
		_, parent, _ := strings.Cut(name, ".")
		r.removeRecords(name, dns.TypeTXT, nil)
		r.world.Remove(func(rr dns.RR) bool {
			txt, ok := rr.(*dns.TXT)
			return ok && dns.CanonicalName(txt.Hdr.Name) == parent && kind.MatchString(strings.Join(txt.Txt, ""))
		})
	}
	r.world.Zone(name + " 300 IN TXT " + quotedStrings(value))
}

// quotedStrings returns a text in the form of a zone file.
func quotedStrings(value string) string {
	var list []string
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for rest := value; rest != ""; {
		n := min(len(rest), 255)
		list, rest = append(list, `"`+escape.Replace(rest[:n])+`"`), rest[n:]
	}
	return strings.Join(list, " ")
}

// publishMX replaces the record that the finding is about, or all if the value is a null MX.
func (r *drillRun) publishMX(domain, value string, before *drillReply, advice diag.Recommendation) {
	about := map[string]bool{}
	for _, f := range before.Findings {
		if f.Code == advice.Code {
			about[dns.CanonicalName(f.Target)] = true
		}
	}
	r.world.Remove(func(rr dns.RR) bool {
		mx, ok := rr.(*dns.MX)
		return ok && dns.CanonicalName(mx.Hdr.Name) == domain+"." && (about[dns.CanonicalName(mx.Mx)] || strings.HasSuffix(value, " ."))
	})
	r.world.Zone(domain + ". 300 IN MX " + value)
}

// publishPolicy serves a policy of MTA-STS, and announces it if nothing did.
func (r *drillRun) publishPolicy(domain, text string) {
	host := "mta-sts." + domain
	if announced := r.records("_mta-sts."+domain, dns.TypeTXT); !slices.ContainsFunc(announced, func(rr dns.RR) bool {
		return strings.HasPrefix(rr.(*dns.TXT).Txt[0], "v=STSv1")
	}) {
		r.world.Zone("_mta-sts." + domain + `. 300 IN TXT "v=STSv1; id=20261101T1"`)
	}
	r.servePolicy(host, text)
}

// servePolicy serves a policy of MTA-STS.
func (r *drillRun) servePolicy(host, text string) {
	policy := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/.well-known/mta-sts.txt" {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, text)
	})
	if !r.world.Wrap(host, 443, func(http.Handler) http.Handler { return policy }) {
		r.world.HTTPS(host, policy)
	}
}

// A page is an answer of a web server that is edited before it is sent.
type page struct {
	path   string // of the request
	header http.Header
	body   string
}

// edit changes the replies of a URL's host, and reports whether there is one.
func (r *drillRun) edit(address string, change func(*page)) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		port = map[string]uint64{"http": 80, "https": 443}[u.Scheme]
	}
	return r.world.Wrap(u.Hostname(), uint16(port), func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			raw := &rawRecorder{ResponseRecorder: httptest.NewRecorder()}
			h.ServeHTTP(raw, req)
			rec := raw.answer(req)
			p := &page{req.URL.Path, rec.Header(), unpacked(rec)}
			change(p)
			maps.Copy(w.Header(), p.header)
			w.Header().Del("Content-Length")
			w.WriteHeader(rec.Code)
			io.WriteString(w, p.body) // a client may have gone, and a status may allow no body
		})
	})
}

// A rawRecorder records an answer also of a handler that writes it to the connection itself.
type rawRecorder struct {
	*httptest.ResponseRecorder
	text bytes.Buffer
}

func (r *rawRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) { return rawConn{rec: r}, nil, nil }

// answer returns the response, without the lines that are not HTTP.
func (r *rawRecorder) answer(req *http.Request) *httptest.ResponseRecorder {
	if r.text.Len() == 0 {
		return r.ResponseRecorder
	}
	head, body, _ := strings.Cut(r.text.String(), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return line != lines[0] && !strings.Contains(line, ":") })
	rec := httptest.NewRecorder()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(strings.Join(lines, "\r\n")+"\r\n\r\n"+body)), req)
	if err != nil {
		rec.WriteHeader(http.StatusBadGateway)
		return rec
	}
	defer resp.Body.Close()
	maps.Copy(rec.Header(), resp.Header)
	rec.WriteHeader(resp.StatusCode)
	io.Copy(rec, resp.Body)
	return rec
}

type rawConn struct {
	net.Conn // of which nothing is used but Write and Close
	rec      *rawRecorder
}

func (c rawConn) Write(b []byte) (int, error) { return c.rec.text.Write(b) }
func (rawConn) Close() error                  { return nil }

// unpacked is the body of an answer as text.
func unpacked(rec *httptest.ResponseRecorder) string {
	if rec.Header().Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(bytes.NewReader(rec.Body.Bytes())); err == nil {
			if text, err := io.ReadAll(z); err == nil {
				rec.Header().Del("Content-Encoding")
				return string(text)
			}
		}
	}
	return rec.Body.String()
}

// setField sends a field with each answer, in the place of its like.
func setField(name, value string) func(*page) {
	return func(p *page) { p.header.Set(name, value) }
}

// setCookie sends a cookie in the place of the one of the same name.
func setCookie(value string) func(*page) {
	name, _, _ := strings.Cut(value, "=")
	return func(p *page) {
		for i, line := range p.header["Set-Cookie"] {
			if strings.HasPrefix(line, name+"=") {
				p.header["Set-Cookie"][i] = value
			}
		}
	}
}

var (
	headTag  = regexp.MustCompile(`(?i)<head(?:\s[^>]*)?>|<html[^>]*>|<!doctype[^>]*>`)
	metaLike = regexp.MustCompile(`(?i)<meta [^>]*charset[^>]*>`)
	linkLike = regexp.MustCompile(`(?i)<link [^>]*canonical[^>]*>`)
)

// inHead puts an element into the head of each page, in the place of its like.
func inHead(element string) func(*page) {
	like := linkLike
	if strings.HasPrefix(element, "<meta") {
		like = metaLike
	}
	return func(p *page) {
		if !strings.Contains(p.header.Get("Content-Type"), "html") {
			return
		}
		p.body = like.ReplaceAllString(p.body, "")
		at := 0
		for _, found := range headTag.FindAllStringIndex(p.body, -1) {
			at = found[1]
		}
		p.body = p.body[:at] + element + p.body[at:]
	}
}

// allow adds a line to each group of robots.txt.
func allow(line string) func(*page) {
	return func(p *page) {
		if p.path == "/robots.txt" {
			p.body = regexp.MustCompile(`(?mi)^(user-agent:.*\r?\n)+`).ReplaceAllString(p.body, "${0}"+strings.ReplaceAll(line, "$", "$$")+"\n")
		}
	}
}
