package live

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// HopSilent reports whether the hop is not known since the names of its candidates are not.
func (e *Evidence) HopSilent() bool {
	return e.Hop == nil && slices.ContainsFunc(e.servers, func(s server) bool { return s.PTR.Err != nil })
}

// NamesSilent reports whether the names of the server are not known.
func (e *Evidence) NamesSilent() bool { return e.HopSilent() || e.PTR != nil && e.PTR.Err != nil }

// KeySilent reports whether the key of a signature could not be looked up.
func (e *Evidence) KeySilent() bool { return e.signature(unknownKey) != nil }

// unknownKey reports whether the key of a signature could not be looked up; one whose body was changed fails for that.
func unknownKey(s *dkim.Result) bool {
	return s.Result == dkim.TempError || s.Result == dkim.Fail && s.SignatureOK == nil
}

// AuthorSilent reports whether it is not known if the author's domain exists, where that matters.
func (e *Evidence) AuthorSilent() bool {
	if e.Could == nil || e.DMARC.Result != policy.ResultNone {
		return false
	}
	_, err := e.Could.Discovery.Exists()
	return err != nil
}

// ExcuseSilent reports whether DMARC fails, and the DNS did not say all that may explain it.
func (e *Evidence) ExcuseSilent() bool {
	return e.DMARC.Result == policy.ResultFail &&
		(e.SPFGave(eval.Temperror) || e.KeySilent() || e.NamesSilent() || e.ARC.Result == arc.Unknown)
}

// Silences says in sentences what the DNS did not answer that matters.
func (e *Evidence) Silences() (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if e.SPFGave(eval.Temperror) {
		say("SPF for %s could not be evaluated (temperror): %s.", diag.Quote(e.SPF.Domain), diag.Quote(e.SPF.Reason))
	}
	for _, s := range e.Signatures(unknownKey) {
		say("The DKIM key of %s could not be looked up: %s", s.Domain, s.Reason)
	}
	if e.Could != nil && e.Could.Err != nil && e.DMARC.Result == policy.ResultTempError {
		say("The DMARC policy of %s could not be looked up: %s.", e.Author(), diag.Reason(e.Could.Err))
	}
	if e.AuthorSilent() {
		say("Whether %s exists could not be looked up.", e.Author())
	}
	if e.HopSilent() {
		list = append(list, e.Why)
	}
	if e.ExcuseSilent() && e.PTR != nil && e.PTR.Err != nil {
		say("The PTR record of %s could not be looked up: %s.", e.PTR.IP, e.PTR.Error)
	}
	if e.ExcuseSilent() && e.ARC.Result == arc.Unknown {
		list = append(list, "The ARC chain could not be verified. "+e.ARC.Reason)
	}
	return list
}
