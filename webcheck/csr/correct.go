package csr

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
)

// correction is the command that makes the request right: with the key that it has, or with a new one if that is no
// good. It is empty where no name is left that can be certified, or a value would have to be guessed.
func (e *evidence) correction() string {
	if e.fixed == nil {
		e.fixed = new(e.correct(e.keyAccepted()))
	}
	return *e.fixed
}

// renewal is the command for a key that some authorities take, and others do not: with a new one.
func (e *evidence) renewal() string { return e.correct(false) }

func (e *evidence) correct(keep bool) string {
	if e.csr == nil || e.csr.Unreadable {
		return ""
	}
	names := e.certifiable()
	subject, ok := e.subject(names)
	if len(names) == 0 || !ok {
		return ""
	}
	file := fileName(names[0])
	words := []string{"openssl req -new"}
	if keep {
		words = append(words, "-key "+file+".key")
	} else {
		words = append(words, e.newKey(), "-nodes -keyout "+file+"-new.key")
	}
	words = append(words, "-sha256 -utf8", "-subj "+quote(subject),
		"-addext "+quote("subjectAltName="+strings.Join(prefixed(names), ",")))
	return strings.Join(append(words, "-out "+file+"-new.csr"), " ")
}

// commandless removes from advice the mentions of a suggested command, for reports without one.
var commandless = strings.NewReplacer(", as the suggested command does where it can", "",
	", as the suggested command does", "", "; the suggested command does so", "",
	" The suggested command leaves them out.", "")

// keyAccepted reports whether an authority takes the key.
func (e *evidence) keyAccepted() bool {
	k := e.csr.Key
	switch {
	case k.Fault != "" || slices.ContainsFunc(e.ordered, func(c pki.KeyCheck) bool { return c.Status == pki.CheckFailed }):
		return false
	case k.Algorithm == pki.RSA:
		return k.Name == "RSA" && !k.Absent && k.Size()%8 == 0 && k.E.IsInt64() && k.E.Int64() == pki.MinExponent
	default:
		return k.Algorithm == pki.ECDSA && k.Curve != nil && allowedCurves[k.Curve.Name] && !k.Explicit && !k.Compressed()
	}
}

// newKey asks for a key of the same kind, if that is accepted.
func (e *evidence) newKey() string {
	switch k := e.csr.Key; {
	case k.Algorithm == pki.RSA && k.Size() > 3072:
		return "-newkey rsa:4096"
	case k.Algorithm == pki.RSA:
		return "-newkey rsa:2048"
	default:
		return "-newkey ec -pkeyopt ec_paramgen_curve:P-256"
	}
}

// certifiable lists the names that can be certified, each once, with those that only need another form.
func (e *evidence) certifiable() []Name {
	candidates := slices.Clone(e.csr.Names)
	candidates = append(candidates, kit.Map(e.common, asName)...)
	var list []Name
	for _, n := range candidates[:min(len(candidates), maxJudged)] {
		name := judgeName(repaired(n))
		name.Value = strings.ToLower(name.Value)
		if name.Valid && !slices.ContainsFunc(list, func(other Name) bool { return other.Value == name.Value }) {
			list = append(list, name)
		}
	}
	return list
}

// repaired removes what surrounds a name, or gives an address its type.
func repaired(n generalName) generalName {
	if n.Type != DNSName {
		return n
	}
	host := strings.TrimSuffix(strings.TrimSpace(n.Value), ".")
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		host = u.Hostname()
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return generalName{Type: IPName, Value: ip.String(), IP: ip}
	}
	if d, err := diag.ParseDomain(host); err == nil && !ascii(host) {
		host = d.String()
	}
	return generalName{Type: DNSName, Value: host}
}

func prefixed(names []Name) []string {
	var list []string
	for _, n := range names {
		if n.Type == IPName {
			list = append(list, "IP:"+n.Value)
		} else {
			list = append(list, "DNS:"+n.Value)
		}
	}
	return list
}

// kept are the attributes of the subject that authorities still certify, in their order (Baseline Requirements
// sections 7.1.2.7.4 and 7.1.4.2).
var kept = []struct{ oid, name string }{
	{"2.5.4.6", "C"}, {"2.5.4.8", "ST"}, {"2.5.4.7", "L"}, {"2.5.4.10", "O"},
}

// subject writes the subject for openssl. It returns false if a value cannot be written safely.
func (e *evidence) subject(names []Name) (string, bool) {
	var b strings.Builder
	for _, k := range kept {
		for _, a := range e.csr.Attributes {
			switch {
			case a.OID != k.oid || isDefault(a) || isPlaceholder(a.Value) || tooLong(a) ||
				a.OID == oidCountry && !isCountry(a.Value):
			case !plain(a.Value):
				return "", false
			default:
				b.WriteString("/" + k.name + "=" + escaped.Replace(a.Value))
			}
		}
	}
	for _, n := range names {
		if len(n.Value) <= maxCommonName && n.Type == DNSName {
			return b.String() + "/CN=" + n.Value, true
		}
	}
	if b.Len() == 0 {
		return "/", true
	}
	return b.String(), true
}

// escaped keeps values in one piece: openssl separates them by slashes.
var escaped = strings.NewReplacer(`\`, `\\`, "/", `\/`, "+", `\+`)

// plain reports whether a value is safe between single quotation marks in a shell.
func plain(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '\'' || r == '\\' || r == unicode.ReplacementChar || r != ' ' && !unicode.IsGraphic(r) ||
			unicode.In(r, unicode.Zs) && r != ' '
	})
}

func quote(s string) string { return "'" + s + "'" }

// fileName makes the name of a file out of one that is certified.
func fileName(n Name) string {
	name := strings.ReplaceAll(strings.ReplaceAll(n.Value, "*.", "wildcard."), ":", "-")
	return strings.TrimLeft(name[:min(len(name), 100)], "-.")
}
