package resolve

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// fieldsOf takes the data of a record apart.
func fieldsOf(rr dns.RR, now time.Time) Fields {
	switch r := rr.(type) {
	case *dns.A:
		return Fields{"address": addressText(r.A.To4())}
	case *dns.AAAA:
		return Fields{"address": addressText(r.AAAA.To16())}
	case *dns.CNAME:
		return Fields{"target": nameText(r.Target)}
	case *dns.DNAME:
		return Fields{"target": nameText(r.Target)}
	case *dns.NS:
		return Fields{"target": nameText(r.Ns)}
	case *dns.PTR:
		return Fields{"target": nameText(r.Ptr)}
	case *dns.MX:
		return Fields{"preference": int64(r.Preference), "exchange": nameText(r.Mx)}
	case *dns.TXT:
		return textFields(r)
	case *dns.SRV:
		return Fields{
			"priority": int64(r.Priority), "weight": int64(r.Weight), "port": int64(r.Port), "target": nameText(r.Target),
		}
	case *dns.SOA:
		return Fields{
			"mname": nameText(r.Ns), "rname": nameText(r.Mbox), "serial": int64(r.Serial),
			// The names of RFC 1035 section 3.3.13, as in the audit of a zone, and like "ttl" in seconds.
			"refresh": int64(r.Refresh), "retry": int64(r.Retry), "expire": int64(r.Expire), "minimum": int64(r.Minttl),
		}
	case *dns.SVCB:
		return serviceFields(r)
	case *dns.HTTPS:
		return serviceFields(&r.SVCB)
	case *dns.CAA:
		// RFC 8659 section 4.1: bit 0, the highest, marks the property as critical.
		f := Fields{"flags": int64(r.Flag), "critical": r.Flag&0x80 != 0, "tag": strings.ToLower(r.Tag)}
		f.setText("value", r.Value)
		return f
	case *dns.NAPTR:
		return pointerFields(r)
	}
	if f := securityFields(rr, now); f != nil {
		return f
	}
	return unknownFields(rr)
}

// securityFields takes the records of DNSSEC, DANE and SSH apart; it is nil for all others.
func securityFields(rr dns.RR, now time.Time) Fields {
	switch r := rr.(type) {
	case *dns.TLSA:
		return Fields{
			"usage": int64(r.Usage), "selector": int64(r.Selector), "matching_type": int64(r.MatchingType),
			"association_data": strings.ToLower(r.Certificate),
		}
	case *dns.SSHFP:
		return Fields{
			"algorithm": int64(r.Algorithm), "fingerprint_type": int64(r.Type),
			"fingerprint": strings.ToLower(r.FingerPrint),
		}
	case *dns.DS:
		return Fields{
			"key_tag": int64(r.KeyTag), "algorithm": int64(r.Algorithm), "algorithm_name": AlgorithmName(r.Algorithm),
			"digest_type": int64(r.DigestType), "digest": strings.ToLower(r.Digest),
		}
	case *dns.DNSKEY:
		return Fields{
			"flags": int64(r.Flags), "zone_key": r.Flags&dns.ZONE != 0, "secure_entry_point": r.Flags&dns.SEP != 0,
			"revoked": r.Flags&dns.REVOKE != 0, "protocol": int64(r.Protocol), "algorithm": int64(r.Algorithm),
			"algorithm_name": AlgorithmName(r.Algorithm), "public_key": r.PublicKey, "key_tag": int64(r.KeyTag()),
		}
	case *dns.RRSIG:
		return Fields{
			"type_covered": dns.Type(r.TypeCovered).String(), "algorithm": int64(r.Algorithm),
			"algorithm_name": AlgorithmName(r.Algorithm), "labels": int64(r.Labels), "original_ttl": int64(r.OrigTtl),
			"expiration": SerialTime(r.Expiration, now), "inception": SerialTime(r.Inception, now),
			"key_tag": int64(r.KeyTag), "signer_name": nameText(r.SignerName), "signature": r.Signature,
		}
	case *dns.NSEC:
		return Fields{"next_name": nameText(r.NextDomain), "types": typeNames(r.TypeBitMap)}
	case *dns.NSEC3:
		return Fields{
			"hash_algorithm": int64(r.Hash), "flags": int64(r.Flags), "opt_out": r.Flags&1 != 0, // RFC 5155 section 3.1.2.1
			"iterations": int64(r.Iterations), "salt": saltText(r.Salt), "next_hashed_name": strings.ToLower(r.NextDomain),
			"types": typeNames(r.TypeBitMap),
		}
	case *dns.NSEC3PARAM:
		return Fields{
			"hash_algorithm": int64(r.Hash), "flags": int64(r.Flags), "iterations": int64(r.Iterations),
			"salt": saltText(r.Salt),
		}
	}
	return nil
}

func textFields(r *dns.TXT) Fields {
	f := Fields{}
	parts := dnsmsg.TXTStrings(r)
	f.setText("text", strings.Join(parts, ""))
	f.setTexts("strings", parts)
	return f
}

func pointerFields(r *dns.NAPTR) Fields {
	f := Fields{"order": int64(r.Order), "preference": int64(r.Preference), "replacement": nameText(r.Replacement)}
	for name, escaped := range map[string]string{"flags": r.Flags, "service": r.Service, "regexp": r.Regexp} {
		f.setText(name, dnsmsg.TXT(&dns.TXT{Txt: []string{escaped}}))
	}
	return f
}

// serviceFields takes a record of type SVCB or HTTPS apart (RFC 9460 section 2). Parameters have the
// names of the registry with "_" for "-", or keyNNN.
func serviceFields(r *dns.SVCB) Fields {
	params := Fields{}
	for _, kv := range r.Value {
		name := paramName(kv.Key())
		switch p := kv.(type) {
		case *dns.SVCBAlpn:
			params.setTexts(name, p.Alpn)
		case *dns.SVCBMandatory:
			params[name] = kit.Map(p.Code, paramName)
		case *dns.SVCBNoDefaultAlpn, *dns.SVCBOhttp:
			params[name] = true
		case *dns.SVCBPort:
			params[name] = int64(p.Port)
		case *dns.SVCBIPv4Hint:
			params[name] = addressTexts(p.Hint, net.IP.To4)
		case *dns.SVCBIPv6Hint:
			params[name] = addressTexts(p.Hint, net.IP.To16)
		case *dns.SVCBDoHPath:
			params.setText(name, p.Template)
		default:
			params.setText(name, kv.String())
		}
	}
	return Fields{
		"priority": int64(r.Priority), "alias_mode": r.Priority == 0, "target": nameText(r.Target), "params": params,
	}
}

// unknownFields holds the data as they are on the wire (RFC 3597 section 5).
func unknownFields(rr dns.RR) Fields {
	var raw dns.RFC3597
	if r, ok := rr.(*dns.RFC3597); ok {
		raw = *r
	} else if err := raw.ToRFC3597(rr); err != nil {
		return Fields{}
	}
	return Fields{"rdata_hex": strings.ToLower(raw.Rdata)}
}

// addressText is empty if the record holds no address, as those of dynamic updates may.
func addressText(ip net.IP) string {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return ""
	}
	return a.String()
}

func addressTexts(ips []net.IP, form func(net.IP) net.IP) []string {
	return kit.Map(ips, func(ip net.IP) string { return addressText(form(ip)) })
}

func paramName(key dns.SVCBKey) string { return strings.ReplaceAll(key.String(), "-", "_") }

// newAlgorithms are those of DNSSEC that the library does not know: RFC 9563 and RFC 9558.
var newAlgorithms = map[uint8]string{17: "SM2SM3", 23: "ECC-GOST12"}

// AlgorithmName returns the mnemonic of a DNSSEC algorithm in IANA's registry, or ALGnnn.
func AlgorithmName(algorithm uint8) string {
	return cmp.Or(newAlgorithms[algorithm], dns.AlgorithmToString[algorithm], "ALG"+strconv.Itoa(int(algorithm)))
}

// saltText returns a salt in hexadecimal digits; zone files write a dash for an empty one.
func saltText(salt string) string { return strings.ToLower(strings.Trim(salt, "-")) }

func typeNames(bitmap []uint16) []string {
	return kit.Map(bitmap, func(t uint16) string { return dns.Type(t).String() })
}

// lineWords are words in names that providers give to lines of their customers.
var lineWords = []string{"adsl", "broadband", "cable", "dhcp", "dial", "dialin", "dialup", "dsl", "dyn", "dynamic",
	"dynip", "pool", "ppp", "pppoe", "vdsl"}

// generic says why a host name looks as if it were made from the address, or by a rule for many hosts.
func generic(host string, ip diag.IP) (why string, is bool) {
	words := strings.FieldsFunc(strings.ToLower(host), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, w := range words {
		if plain := strings.Trim(w, "0123456789"); slices.Contains(lineWords, plain) {
			return fmt.Sprintf("contains %q, as names of customer lines do", plain), true
		}
	}
	if ip.Is4() {
		return "contains the address", holdsIPv4(words, ip)
	}
	return "contains the address", holdsIPv6(words, ip)
}

// holdsIPv4 looks for the four octets one after the other in either direction, in decimal or in
// hexadecimal digits: 192-0-2-1, 1.2.0.192, ip192000002001, c0000201.
func holdsIPv4(words []string, ip diag.IP) bool {
	b := ip.As4()
	numbers := []string{}
	for _, w := range words {
		numbers = append(numbers, strings.FieldsFunc(w, func(r rune) bool { return !unicode.IsDigit(r) })...)
	}
	for i, n := range numbers {
		numbers[i] = strings.TrimLeft(n, "0")
	}
	joined := "," + strings.Join(numbers, ",") + ","
	texts := strings.Join(words, " ")
	for range 2 {
		if strings.Contains(joined, fmt.Sprintf(",%s,%s,%s,%s,", number(b[0]), number(b[1]), number(b[2]), number(b[3]))) ||
			strings.Contains(texts, fmt.Sprintf("%03d%03d%03d%03d", b[0], b[1], b[2], b[3])) ||
			strings.Contains(texts, hex.EncodeToString(b[:])) {
			return true
		}
		slices.Reverse(b[:])
	}
	return false
}

// number is an octet in decimal without leading zeros, of which zero is one.
func number(octet byte) string { return strings.TrimLeft(fmt.Sprint(octet), "0") }

// holdsIPv6 looks for the lower half of the address, which distinguishes hosts of a network: its four groups one
// after the other as they are written, or all of its digits, in either direction.
func holdsIPv6(words []string, ip diag.IP) bool {
	b := ip.As16()
	if b[8]|b[9]|b[10]|b[11]|b[12]|b[13] == 0 {
		return false // ::1 and the like: the digits are too few to be more than chance
	}
	groups := make([]string, 4)
	for i := range groups {
		groups[i] = strings.TrimLeft(hex.EncodeToString(b[8+2*i:10+2*i]), "0")
	}
	trimmed := kit.Map(words, func(w string) string { return strings.TrimLeft(w, "0") })
	digits := []byte(hex.EncodeToString(b[8:]))
	joined := strings.Join(words, "")
	if strings.Contains(","+strings.Join(trimmed, ",")+",", ","+strings.Join(groups, ",")+",") ||
		strings.Contains(joined, string(digits)) {
		return true
	}
	slices.Reverse(digits)
	return strings.Contains(joined, string(digits))
}
