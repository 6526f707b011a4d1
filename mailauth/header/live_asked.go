package header

import (
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf"
)

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
		{asksSPF, l.spf != nil && l.spf.Outcome == spf.Temperror || l.hopSilent()},
		{asksHELO, l.helo != nil && l.helo.Outcome == spf.Temperror || l.hopSilent()},
		{asksKeys, l.keySilent()},
		{asksPolicy, l.dmarc.result == policy.ResultTempError},
		{asksNames, l.namesSilent()},
		{asksExcuse, l.excuseSilent()},
		{asksPath, l.dmarc.result == policy.ResultTempError || l.namesSilent()},
		{asksAuthor, l.authorSilent()},
	} {
		if s.silent {
			list = append(list, s.source)
		}
	}
	return list
}

// hopSilent reports whether the hop is not known since the names of its candidates are not.
func (l *liveEvidence) hopSilent() bool {
	return l.hop == nil && slices.ContainsFunc(l.hops, func(h hopEvidence) bool { return h.ptr.err != nil })
}

func (l *liveEvidence) namesSilent() bool { return l.hopSilent() || l.ptr != nil && l.ptr.err != nil }

func (l *liveEvidence) keySilent() bool {
	return slices.ContainsFunc(l.dkim.Signatures, func(s dkim.Result) bool { return unknownKey(&s) })
}

// unknownKey reports whether the key of a signature could not be looked up; one whose body was changed fails for that.
func unknownKey(s *dkim.Result) bool {
	return s.Result == dkim.TempError || s.Result == dkim.Fail && s.SignatureOK == nil
}

func (l *liveEvidence) authorSilent() bool {
	if l.could == nil || l.dmarc.result != policy.ResultNone {
		return false
	}
	_, err := l.could.Discovery.Exists()
	return err != nil
}

// excuseSilent reports whether DMARC fails, and the DNS did not say all that may explain it.
func (l *liveEvidence) excuseSilent() bool {
	spfSilent := l.spf != nil && l.spf.Outcome == spf.Temperror
	return l.dmarc.result == policy.ResultFail &&
		(spfSilent || l.keySilent() || l.namesSilent() || l.arc.Result == arc.Unknown)
}
