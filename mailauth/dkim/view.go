package dkim

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("", r.RecordName+".", "TXT")
	v.Fact("selector", r.Selector.String())
	r.facts(v, r.Found)
	v.Fact("alias of", strings.Join(r.CNAMEChain, " → "), "dkim.record.alias")
	v.Fact("service", r.Service)
	v.Fact("keys at", diag.Series(r.KnownSelectors, 6))
	if r.Valid {
		v.Brief = view.Join("selector "+r.Selector.String(), r.key(), r.Service)
	}
	return v
}

// View is what a person sees of the report.
func (r *ValidateReport) View() *view.View {
	v := view.Of("DKIM record", r.Verdict)
	v.Record = r.Record
	r.facts(v, true)
	if r.Valid {
		v.Brief = r.key()
	}
	return v
}

// facts are those of the key, if there is a record.
func (k *KeyFields) facts(v *view.View, found bool) {
	if !found {
		return
	}
	v.Fact("key", k.key(), "dkim.key")
	if k.StringsCount > 0 {
		v.Fact("record", fmt.Sprintf("%d bytes in %s", k.LengthBytes, diag.Count(k.StringsCount, "string")), "dkim.record")
	}
	if k.Revoked {
		return
	}
	v.Fact("hashes", cmp.Or(strings.Join(k.HashAlgorithms, ", "), "any"), "dkim.hash")
	v.Fact("used for", services(k.ServiceTypes), "dkim.service")
	if k.Testing {
		v.Fact("testing", "receivers treat signed mail like unsigned mail (t=y)", "dkim.flag.testing")
	}
	if k.StrictIdentity {
		v.Fact("identity", "i= must not name a subdomain (t=s)")
	}
}

// key is the key in words.
func (k *KeyFields) key() string {
	switch p := &k.PublicKey; {
	case k.Revoked:
		return "revoked"
	case p.Algorithm != "":
		return p.Short()
	case k.KeyType == unknownType:
		return "of unknown type"
	}
	return strings.ToUpper(string(k.KeyType)) + ", not readable"
}

func services(types []string) string {
	if len(types) == 1 && types[0] == "*" {
		return "everything"
	}
	return strings.Join(types, ", ")
}
