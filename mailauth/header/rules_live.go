package header

import (
	"slices"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

var liveRules = sync.OnceValue(func() diag.Rules[*analysis] {
	type common = diag.Rule[*analysis]
	return slices.Concat(
		liveDMARCRules.With(common{Category: factorDMARC, Reads: []diag.Source{asksPolicy, asksExcuse}}),
		liveSPFRules.With(common{Category: factorLive, Reads: []diag.Source{asksSPF, asksPath}, When: judged}),
		// Failures of one of several signatures are facts, whatever is not known of the others.
		liveDKIMRules.With(common{Category: factorLive, Reads: []diag.Source{asksKeys}, Stands: true}),
		liveServerRules.With(common{Category: factorServer, Reads: []diag.Source{asksNames}, When: ptrKnown}))
})

// What the rules about a message read of what the DNS said.
const (
	asksSPF    diag.Source = "spf"
	asksHELO   diag.Source = "helo"
	asksKeys   diag.Source = "keys"
	asksPolicy diag.Source = "policy"
	asksNames  diag.Source = "names"
	asksExcuse diag.Source = "excuse" // all that may explain why DMARC fails
	asksPath   diag.Source = "path"   // all that tells forwarding from forgery
	asksAuthor diag.Source = "author" // whether the domain exists
)

// Unanswered lists what the DNS did not say.
func (a *analysis) Unanswered() (list []diag.Source) {
	l := a.live
	if l == nil {
		return nil
	}
	for _, s := range []struct {
		source diag.Source
		silent bool
	}{
		{asksSPF, l.SPFGave(eval.Temperror) || l.HopSilent()},
		{asksHELO, l.HELO != nil && l.HELO.Outcome == eval.Temperror || l.HopSilent()},
		{asksKeys, l.KeySilent()},
		{asksPolicy, l.DMARC.Result == policy.ResultTempError},
		{asksNames, l.NamesSilent()},
		{asksExcuse, l.ExcuseSilent()},
		{asksPath, l.DMARC.Result == policy.ResultTempError || l.NamesSilent()},
		{asksAuthor, l.AuthorSilent()},
	} {
		if s.silent {
			list = append(list, s.source)
		}
	}
	return list
}
