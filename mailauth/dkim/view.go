package dkim

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial)
	v.PublishAt("", r.RecordName+".", "TXT")
	v.Fact("selector", r.Selector.String())
	r.facts(v, r.Found)
	v.Fact("alias of", strings.Join(r.CNAMEChain, " → "), "dkim.record.alias")
	v.Fact("service", r.Service)
	v.Fact("keys at", phrase.Series(r.KnownSelectors, 6))
	v.BriefIf(r.Valid, "selector "+r.Selector.String(), r.key(), r.Service)
	return v
}

// View renders the report for display.
func (r *ValidateReport) View() *view.View {
	v := view.Of("DKIM record", r.Verdict, false)
	v.Record = r.Record
	r.facts(v, true)
	v.BriefIf(r.Valid, r.key())
	return v
}

func (k *KeyFields) facts(v *view.View, found bool) {
	if !found {
		return
	}
	v.Fact("key", k.key(), "dkim.key")
	v.Fact("record", view.TextIf(k.StringsCount > 0,
		fmt.Sprintf("%d bytes in %s", k.LengthBytes, phrase.Count(k.StringsCount, "string"))), "dkim.record")
	if k.Revoked {
		return
	}
	v.Fact("hashes", cmp.Or(strings.Join(k.HashAlgorithms, ", "), "any"), "dkim.hash")
	services := strings.Join(k.ServiceTypes, ", ")
	v.Fact("used for", cmp.Or(view.TextIf(services == "*", "everything"), services), "dkim.service")
	v.Fact("testing", view.TextIf(k.Testing, "receivers treat signed mail like unsigned mail (t=y)"), "dkim.flag.testing")
	v.Fact("identity", view.TextIf(k.StrictIdentity, "i= must not name a subdomain (t=s)"))
}

func (k *KeyFields) key() string {
	return cmp.Or(
		view.TextIf(k.Revoked, "revoked"),
		k.PublicKey.Short(),
		view.TextIf(k.KeyType == UnknownType, "of unknown type"),
		strings.ToUpper(string(k.KeyType))+", not readable",
	)
}
