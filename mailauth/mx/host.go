package mx

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/mailauth/reception"
	"golang.org/x/net/publicsuffix"
)

type host struct {
	reception.Host
	fault              fault
	reachable, special []netip.Addr // addresses that are public, and that are not
}

// A fault is why a host cannot receive mail. Each host has the first that applies, so that one mistake is told once.
type fault int

// The faults.
const (
	sound        fault = iota
	literal            // the name is an IP address
	loopback           // the name stands for the sender's own machine
	repeating          // the name ends with the domain twice
	malformed          // the name has characters that no host name has
	undetermined       // the servers did not say whether it has an address
	nonexistent        // the name does not exist
	addressless        // the name has no address
	unroutable         // none of its addresses is public
)

func (e *evidence) faultOf(h *host) fault {
	switch a := h.Addresses; {
	case h.Literal(e.domain.String()).IsValid():
		return literal
	case strings.HasPrefix(h.Name+".", "localhost.") || strings.HasSuffix(h.Name, ".localhost"):
		return loopback
	case withoutDomain(h.Name, e.domain.String()) != "":
		return repeating
	case oddity(h.Name) != "":
		return malformed
	case a.V4.NXDomain() || a.V6.NXDomain(): // the name does not exist, whatever became of the other lookup
		return nonexistent
	case a.Err() != nil:
		return undetermined
	case len(h.reachable)+len(h.special) == 0:
		return addressless
	case len(h.reachable) == 0:
		return unroutable
	default:
		return sound
	}
}

func (e *evidence) with(f fault) []host {
	return slices.DeleteFunc(slices.Clone(e.hosts), func(h host) bool { return h.fault != f })
}

// withoutDomain returns the name that was meant where a zone file appended the domain to a name that already ended
// with it; empty if it did not.
func withoutDomain(name, domain string) string {
	if meant, ok := strings.CutSuffix(name, "."+domain); ok && (meant == domain || strings.HasSuffix(meant, "."+domain)) {
		return meant
	}
	return ""
}

// foreign returns the name of another organization that a zone file may have appended the domain to, such as
// mx.example.net.example.com; empty if it does not look like one. Names of fewer than three labels before the domain
// are more often chosen so.
func foreign(name, domain string) string {
	meant, ok := strings.CutSuffix(name, "."+domain)
	if !ok || strings.Count(meant, ".") < 2 {
		return ""
	}
	if _, official := publicsuffix.PublicSuffix(meant); !official {
		return ""
	}
	return meant
}

// oddity says what keeps a name from being that of a host (RFC 1123 section 2.1); empty if nothing does. Underscores
// are let pass here, as most senders do.
func oddity(name string) string {
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case strings.ContainsFunc(label, notInHosts):
			return fmt.Sprintf("its label %s has a character that no host name has", diag.Quote(label))
		case label == "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-"):
			return fmt.Sprintf("its label %s begins or ends with a hyphen", diag.Quote(label))
		}
	}
	return ""
}

func notInHosts(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// internalNames are the endings of names that exist within a network only (RFC 6762 section 3 and appendix G, RFC 8375
// section 4, RFC 9476 section 3, and ICANN's reservation of internal).
var internalNames = []string{"local", "lan", "home", "corp", "internal", "intranet", "private", "alt", "localdomain",
	"home.arpa"}

// internal returns the ending for which a name exists within a network only, or nothing.
func internal(name string) string {
	for _, ending := range internalNames {
		if strings.HasSuffix("."+name, "."+ending) {
			return ending
		}
	}
	return ""
}

func purposes(list []netip.Addr) string {
	return join(diag.Map(list, func(ip netip.Addr) string {
		if _, p, ok := registry.PurposeOf(ip); ok {
			return fmt.Sprintf("%s (%s, %s)", ip, p.Name, p.RFC)
		}
		return ip.String() + " (not a public address)"
	}))
}

func join[T any](list []T) string {
	return diag.Series(diag.Map(list, func(one T) string { return fmt.Sprint(one) }), len(list))
}
