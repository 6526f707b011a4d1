package nameserver

import (
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/miekg/dns"
)

// MasterFile writes records as the lines of a zone file (RFC 1035 section 5.1), for who publishes them on a
// name server of their own. A TTL of 0 means [DefaultTTL].
func MasterFile(records []hostedspf.Record, ttl time.Duration) string {
	if ttl <= 0 {
		ttl = DefaultTTL
	}
	var b strings.Builder
	for _, r := range records {
		rr := &dns.TXT{Hdr: header(dns.Fqdn(r.Name), dns.TypeTXT, seconds(ttl)), Txt: split(r.Value)}
		fmt.Fprintln(&b, strings.ReplaceAll(rr.String(), "\t", " "))
	}
	return b.String()
}
