package httpapi

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// maxHops bounds how many addresses of a header are examined: no path has as many proxies.
const maxHops = 32

// ClientIP returns the address to which a request is attributed under [Config.TrustedProxies], for handlers outside
// the API.
func ClientIP(r *http.Request, trustedProxies []netip.Prefix) netip.Addr {
	return (&server{Config: Config{TrustedProxies: trustedProxies}, log: slog.New(slog.DiscardHandler)}).clientIP(r)
}

// clientIP returns the address that a request counts for: that of the peer, or behind trusted proxies
// the right-most address of their header that is not such a proxy itself. It is the zero address where
// the header cannot be read: what a proxy did not write clearly can be anything, and is in no allowlist.
//
// Proxies write X-Forwarded-For or Forwarded (RFC 7239), and pass the other one on as they got it from
// their client. Neither outranks the other, therefore: where both are there and mean different
// addresses, one of them is forged, and the address is not known.
func (s *server) clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // a listener without addresses, such as a Unix socket
	}
	ip := peer.Addr().Unmap()
	lists, elements := r.Header["X-Forwarded-For"], r.Header["Forwarded"]
	switch {
	case len(lists) == 0 && len(elements) == 0:
		return ip
	case len(s.TrustedProxies) == 0:
		s.warnAboutProxy(ip)
		return ip
	case !s.isTrusted(ip):
		return ip
	case len(elements) == 0:
		return s.rightmost(ip, forwardedFor(lists))
	}
	hops, ok := forwarded(elements)
	if !ok {
		return netip.Addr{}
	}
	client := s.rightmost(ip, hops)
	if len(lists) > 0 && client != s.rightmost(ip, forwardedFor(lists)) {
		return netip.Addr{}
	}
	return client
}

// warnAboutProxy logs once that requests seem to come through a proxy that is not configured: all its clients then
// share one address and one bucket.
func (s *server) warnAboutProxy(peer netip.Addr) {
	s.proxyWarning.Do(func() {
		s.log.Warn("a peer sends X-Forwarded-For or Forwarded, and no proxy is trusted: "+
			"all requests through it count for its own address; if it is your proxy, name it in --trusted-proxies",
			"peer", peer.String())
	})
}

// rightmost walks from the peer towards the client, up to the first address that is not a trusted proxy.
func (s *server) rightmost(peer netip.Addr, hops []string) netip.Addr {
	ip := peer
	for i, n := len(hops)-1, 0; i >= 0; i-- {
		if n++; n > maxHops {
			return netip.Addr{}
		}
		hop, ok := parseNode(hops[i])
		if !ok {
			return netip.Addr{}
		}
		if ip = hop; !s.isTrusted(ip) {
			break
		}
	}
	return ip
}

func (s *server) isTrusted(ip netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// forwardedFor cuts the lists of X-Forwarded-For. Empty elements say nothing (RFC 9110 section 5.6.1.2).
func forwardedFor(lists []string) []string {
	var hops []string
	for _, list := range lists {
		for hop := range strings.SplitSeq(list, ",") {
			if hop = strings.TrimSpace(hop); hop != "" {
				hops = append(hops, hop)
			}
		}
	}
	return hops
}

// token is that of RFC 9110 section 5.6.2.
const token = "[-!#$%&'*+.^_`|~0-9A-Za-z]+"

// forwardedPair matches a parameter of Forwarded or none, up to what ends it. Its groups are the name, the value as a
// token or within quotation marks, and the end.
var forwardedPair = kit.Regexp(`^[ \t]*(?:(` + token + `)=(?:(` + token + `)|"((?s:[^"\\]|\\.)*)"))?[ \t]*([;,]|$)`)

var quotedPair = kit.Regexp(`(?s)\\(.)`)

// forwarded returns the parameter "for" of each element of Forwarded (RFC 7239 section 4), empty for an
// element without one. An element without any parameter is not one.
func forwarded(lists []string) (hops []string, ok bool) {
	var hop string
	var hasParameter, hasFor bool // a parameter, and "for", which may be there once like every parameter
	for rest := strings.Join(lists, ","); ; {
		pair := forwardedPair().FindStringSubmatch(rest)
		if pair == nil {
			return nil, false
		}
		rest = rest[len(pair[0]):]
		hasParameter = hasParameter || pair[1] != ""
		if strings.EqualFold(pair[1], "for") {
			if hasFor {
				return nil, false
			}
			hasFor, hop = true, pair[2]+quotedPair().ReplaceAllString(pair[3], "$1")
		}
		if pair[4] == ";" {
			continue
		}
		if hasParameter {
			hops = append(hops, hop)
		}
		if hop, hasParameter, hasFor = "", false, false; pair[4] == "" {
			return hops, true
		}
	}
}

// parseNode reads an address as proxies write it: bare, an IPv6 address also in brackets, with or
// without a port (RFC 7239 section 6). "unknown" and obfuscated names (section 6.3) are no addresses.
func parseNode(text string) (netip.Addr, bool) {
	host := text
	if strings.HasPrefix(text, "[") {
		inside, port, closed := strings.Cut(text[1:], "]")
		if !closed || port != "" && !nodePort().MatchString(port) || !strings.Contains(inside, ":") {
			return netip.Addr{}, false
		}
		host = inside
	} else if i := strings.IndexByte(text, ':'); i >= 0 && i == strings.LastIndexByte(text, ':') {
		if !nodePort().MatchString(text[i:]) {
			return netip.Addr{}, false
		}
		host = text[:i]
	}
	ip, err := netip.ParseAddr(host)
	return ip.Unmap().WithZone(""), err == nil
}

// nodePort matches a colon and a port, which may be an obfuscated one (RFC 7239 section 6.2). Which one it is does not
// matter.
var nodePort = kit.Regexp(`^:(?:[0-9]{1,5}|_` + token + `)$`)
