package tlscert

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/miekg/dns"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// The bounds of CAA. Names have up to five labels, and records up to a dozen.
const (
	maxClimb      = 16 // labels of a name that are asked for, all at once
	maxOtherNames = 10 // of a certificate that are looked up beside the host; most have two
	maxCAARecords = 50 // of a name that are read
)

// caa holds the DNS records about who may issue for a name.
type caa struct {
	queried bool
	name    string
	domain  string // where the records are, without a final dot; empty if there are none
	records []*dns.CAA
	err     error // why it is not known
}

// lookupCAA climbs from a name towards the root, and stops at the first records (RFC 8659 section 3). All names are
// asked for at once; an answer counts only if those below it are known to be empty.
func lookupCAA(ctx context.Context, env *diag.Env, name string) caa {
	if _, err := netip.ParseAddr(name); err == nil {
		return caa{} // addresses have none (RFC 8659 section 3 speaks of names only)
	}
	var names []string
	for rest := name; rest != ""; {
		names = append(names, rest)
		_, rest, _ = strings.Cut(rest, ".")
	}
	climbed := names[:min(len(names), maxClimb)]
	answers := make([]diag.Answer[*dns.CAA], len(climbed))
	var g diag.Group
	for i, n := range climbed {
		g.Go(func() { answers[i] = diag.Lookup[*dns.CAA](ctx, env, dns.Fqdn(n)) })
	}
	g.Wait()
	for i, a := range answers {
		switch {
		case a.Err() != nil:
			return caa{
				queried: true, name: name, err: fmt.Errorf("the CAA lookup of %s failed: %s", climbed[i], diag.Reason(a.Err())),
			}
		case a.Exists():
			return caa{true, name, climbed[i], a.Records[:min(len(a.Records), maxCAARecords)], nil}
		}
	}
	if len(names) > maxClimb {
		return caa{queried: true, name: name, err: fmt.Errorf("%s has more than %d labels", name, maxClimb)}
	}
	return caa{queried: true, name: name}
}

// A property of CAA (RFC 8659 section 4.1).
const (
	tagIssue     = "issue"
	tagIssueWild = "issuewild"
	flagCritical = 128
)

// property is the property that applies to a wildcard name, or to any other (RFC 8659 section 4.3).
func (c *caa) property(wildcard bool) string {
	if wildcard && c.has(tagIssueWild) {
		return tagIssueWild
	}
	return tagIssue
}

func (c *caa) has(tag string) bool {
	return slices.ContainsFunc(c.records, func(r *dns.CAA) bool { return strings.EqualFold(r.Tag, tag) })
}

// relevant lists the issuers that the records authorize for a wildcard name, or for any other; found is false if no
// record limits them (RFC 8659 sections 4.2 and 4.3).
func (c *caa) relevant(wildcard bool) (domains []string, found bool) {
	tag := c.property(wildcard)
	for _, r := range c.records {
		if !strings.EqualFold(r.Tag, tag) {
			continue
		}
		if domain, err := pki.CAAIssuer(r.Value); err == nil && domain != "" && !slices.Contains(domains, domain) {
			domains = append(domains, domain)
		}
	}
	return domains, c.has(tag)
}

// malformed lists the records that authorize no issuer because of their syntax.
func (c *caa) malformed() (list []string) {
	for _, r := range c.records {
		if tag := strings.ToLower(r.Tag); tag == tagIssue || tag == tagIssueWild {
			if _, err := pki.CAAIssuer(r.Value); err != nil {
				list = append(list, text(r))
			}
		}
	}
	return list
}

// unknownCritical lists the critical records that no authority understands, and which therefore forbid to issue (RFC
// 8659 section 4.5).
func (c *caa) unknownCritical() (list []string) {
	for _, r := range c.records {
		if r.Flag&flagCritical != 0 && !slices.Contains(pki.CAATags(), strings.ToLower(r.Tag)) {
			list = append(list, text(r))
		}
	}
	return list
}

// text is a record in presentation form.
func text(r *dns.CAA) string {
	return strings.ToValidUTF8(fmt.Sprintf("%d %s %q", r.Flag, r.Tag, r.Value), "\uFFFD")
}

// caaReport writes the answer of the DNS down.
func (e *evidence) caaReport() (r CAA) {
	if !e.caa.queried || e.caa.err != nil {
		return r
	}
	r = CAA{
		Found: len(e.caa.records) > 0, Domain: e.caa.domain, Records: kit.Map(e.caa.records, text), Domains: []string{},
		Allows: []CAAAllowed{},
	}
	if name, domains := e.organization(); e.tls != nil {
		r.Issuer = name
		r.Domains = append(r.Domains, domains...)
	}
	for _, record := range e.caa.records {
		r.add(record)
	}
	if yes, known := e.allowed(); known {
		r.Allowed = new(yes)
	} else if !r.Found {
		r.Allowed = new(true) // anyone
	}
	return r
}

var errNoCertificate = errors.New("the file holds no certificate")

// parseIssuer reads the file that a certificate names for its issuer: a certificate in DER form, or several in the
// form of PKCS #7 (RFC 5280 section 4.2.2.1). Many authorities publish PEM, which clients read as well.
func parseIssuer(data []byte) (*x509.Certificate, error) {
	if block, _ := pem.Decode(data); block != nil {
		data = block.Bytes
	}
	if c, err := x509.ParseCertificate(data); err == nil {
		return c, nil
	}
	in := cryptobyte.String(data)
	var info, content, signed, certs, one cryptobyte.String
	tag := asn1.Tag(0).Constructed().ContextSpecific()
	var version int
	if !in.ReadASN1(&info, asn1.SEQUENCE) || !info.SkipASN1(asn1.OBJECT_IDENTIFIER) || !info.ReadASN1(&content, tag) ||
		!content.ReadASN1(&signed, asn1.SEQUENCE) || !signed.ReadASN1Integer(&version) || !signed.SkipASN1(asn1.SET) ||
		!signed.SkipASN1(asn1.SEQUENCE) || !signed.ReadASN1(&certs, tag) || !certs.ReadASN1Element(&one, asn1.SEQUENCE) {
		return nil, errNoCertificate // RFC 5652 section 5.1
	}
	c, err := x509.ParseCertificate(one)
	if err != nil {
		return nil, errNoCertificate
	}
	return c, nil
}

// organization is who issued the certificate of the server: of an intermediate that has the name of a customer, it is
// the first known authority above it.
func (e *evidence) organization() (name string, domains []string) {
	if e.tls == nil {
		return "", nil
	}
	chain := e.verified
	if len(chain) == 0 {
		chain = e.needed()
	}
	for _, c := range chain {
		for _, o := range c.Issuer.Organization {
			if name == "" {
				name = o
			}
			if known := pki.IssuerDomains(o); len(known) > 0 {
				return o, known
			}
		}
	}
	if name == "" && len(chain) > 0 {
		name = chain[0].Issuer.CommonName
	}
	return strings.ToValidUTF8(name, "\uFFFD"), nil
}

// public reports whether a known public authority issued the certificate: the rules of browsers for such apply.
func (e *evidence) public() bool {
	_, domains := e.organization()
	return len(domains) > 0
}

func same(a, b *x509.Certificate) bool { return bytes.Equal(a.Raw, b.Raw) }
