package compose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// A DKIMPart is the key at one selector, or the outcome of the search for one.
type DKIMPart struct {
	Selector string `json:"selector,omitempty" doc:"selector of the key; absent where none was found"`
	Part[dkim.LookupReport]
}

// Keys are the DKIM keys of a domain in a [Run].
type Keys struct {
	domain    diag.Domain
	requested bool // the selectors are those of the caller, and must be there
	tried     []diag.Selector
	search    *dkim.Search
	err       error
	keys      []*key
}

type key struct {
	selector diag.Selector
	part     *Part[dkim.LookupReport]
}

var errSearchEnded = errors.New("the search for keys ended early")

// maxKeys bounds the keys that are examined; a wildcard that answers for all selectors counts as none.
const maxKeys = 20

// FindKeys starts to examine the keys of a domain: those at the given selectors, each of which must exist, or without
// any those found at common selectors. [Keys.Parts] returns them after [Run.Wait].
func FindKeys(r *Run, domain diag.Domain, selectors []diag.Selector) *Keys {
	k := &Keys{domain: domain, requested: len(selectors) > 0, tried: selectors}
	if k.requested {
		k.examine(r, selectors)
		return k
	}
	k.tried = dkim.CommonSelectors()
	k.err = errSearchEnded
	r.Do(func(ctx context.Context, env *diag.Env) {
		k.search, k.err = dkim.Find(ctx, env, domain, k.tried)
		if k.err == nil {
			k.examine(r, k.search.Found[:min(len(k.search.Found), maxKeys)])
		}
	})
	return k
}

func (k *Keys) examine(r *Run, selectors []diag.Selector) {
	for _, s := range selectors {
		p := Go(r, DKIM, func(ctx context.Context, env *diag.Env) (*dkim.LookupReport, error) {
			return dkim.Lookup(ctx, env, dkim.LookupRequest{Domain: k.domain, Selector: s})
		})
		k.keys = append(k.keys, &key{s, p})
	}
}

// Parts returns the keys that count, or a single entry without a key if no key is known. A domain that sends no mail,
// by its SPF record, needs none.
//
// Where selectors are guessed, a revoked key or a dangling alias next to a usable key is a remnant of a rotation, and
// is left out; so are revoked keys of a domain that sends no mail, and those next to a key that may be usable.
func (k *Keys) Parts(sender *Part[spf.LookupReport]) []*DKIMPart {
	return k.parts(&keyEvidence{sendsNoMail: SendsNoMail(sender) || Parked(sender), senderUnknown: !sender.Known(),
		services: signingServices(sender)})
}

func (k *Keys) parts(e *keyEvidence) []*DKIMPart {
	if k.err != nil {
		return []*DKIMPart{{Part: Part[dkim.LookupReport]{Summary: failedSummary(DKIM, k.err)}}}
	}
	e.domain, e.tried = k.domain.String(), len(k.tried)
	if k.search != nil {
		e.search = *k.search
	}
	current := func(candidate *key) bool { return candidate.part.Works() || !candidate.part.Known() }
	rotated := e.sendsNoMail || e.senderUnknown || len(e.search.Failed) > 0 || slices.ContainsFunc(k.keys, current)
	var list []*DKIMPart
	for _, candidate := range k.keys {
		retired := candidate.part.Result != nil && (candidate.part.Result.Revoked || candidate.part.State == diag.Missing)
		if !k.requested && rotated && retired { // its key is revoked, or its alias leads to no key
			continue
		}
		p := &DKIMPart{Selector: candidate.selector.String(), Part: *candidate.part}
		p.setTarget(DKIM.Code + ":" + p.Selector)
		list = append(list, p)
	}
	if len(list) == 0 {
		return []*DKIMPart{{Part: Part[dkim.LookupReport]{Summary: e.summary()}}}
	}
	dropEd25519Alone(list)
	list[0].partial = len(e.search.Failed) > 0 || e.search.Open
	return list
}

// dropEd25519Alone removes the finding that an Ed25519 key is the only key, if an RSA key works at another selector.
func dropEd25519Alone(list []*DKIMPart) {
	const code = "dkim.key.ed25519.alone"
	rsa := func(p *DKIMPart) bool { return p.Works() && p.Result != nil && p.Result.KeyType == dkim.RSA }
	if !slices.ContainsFunc(list, rsa) {
		return
	}
	for _, p := range list {
		p.Findings = slices.DeleteFunc(slices.Clone(p.Findings), func(f diag.Finding) bool { return f.Code == code })
		p.verdict.Recommendations = slices.DeleteFunc(slices.Clone(p.verdict.Recommendations),
			func(r diag.Recommendation) bool { return r.Code == code })
		if p.Result != nil {
			p.Result.Findings, p.Result.Recommendations = p.Findings, p.verdict.Recommendations
		}
	}
}

// summary judges the search. The part is unknown even if the finding is only an info, since it has no key; it is
// missing if no selector can have a key.
func (e *keyEvidence) summary() Summary {
	r := &judgedReport{keyRules.Judge(e, keyTexts), keyRules.Describe()}
	v := &r.Verdict
	text := keyTexts[string(v.Findings[0].Code)]
	v.Headline, v.Sub = text.Headline, text.Sub
	if v.Findings[0].Code == codeUnneeded && e.search.WildcardRevoked {
		v.Headline, v.Sub = "A wildcard revokes all DKIM selectors", v.Findings[0].Detail
	}
	if v.State == diag.Missing {
		v.Score, v.Band = new(0), diag.Poor
	} else {
		v.State = diag.Unknown
	}
	s := Summarize(DKIM, r)
	s.answered = len(e.search.Failed) == 0 && !e.search.Open
	return s
}

// Unneeded reports whether nothing was found and nothing is needed, as a key of a domain that sends no mail.
func (s *Summary) Unneeded() bool {
	return !s.Known() && slices.ContainsFunc(s.Findings, func(f diag.Finding) bool { return f.Code == codeUnneeded })
}

const codeUnneeded = "check.dkim.unneeded"

// WeighKeys returns the keys as parts of a composite: together they have the weight, by their mean, which does not hide
// the gravest fault. If no key is usable they earn nothing.
func WeighKeys(keys []*DKIMPart, weight int, silent bool) []WeightedPart {
	sum, known, worst, limit := 0, 0, 0, 100
	list := kit.Map(keys, func(k *DKIMPart) WeightedPart {
		return WeightedPart{Summary: &k.Summary, MayBeUnknown: silent && (k.Known() || k.answered)}
	})
	if open := slices.IndexFunc(keys, func(k *DKIMPart) bool { return !k.Known() }); open >= 0 {
		list[open].Weight = weight // its deduction is unknown
		return list
	}
	for i, k := range keys {
		if k.Score == nil {
			continue
		}
		sum, known, limit = sum+*k.Score, known+1, min(limit, k.worstSeverity().Cap())
		if keys[worst].Score == nil || *k.Score < *keys[worst].Score {
			worst = i
		}
	}
	list[worst].Weight = weight
	if !slices.ContainsFunc(keys, func(k *DKIMPart) bool { return !k.isIneffective() }) {
		limit = 0 // no signature verifies
	}
	if known > 0 {
		list[worst].Rating = new(min(sum/known, limit))
	}
	return list
}

type keyEvidence struct {
	domain        string
	tried         int
	search        dkim.Search
	sendsNoMail   bool // the domain sends no mail
	senderUnknown bool // whether it sends any is unknown
	services      []*provider.Service
}

const fromSender rule.Source = "sender"

// Unanswered implements [rule.Unanswerer].
func (e *keyEvidence) Unanswered() []rule.Source {
	if e.senderUnknown {
		return []rule.Source{fromSender}
	}
	return nil
}

// unanswered reports whether the lookup failed at half of the tried selectors or more. A few failures among guesses
// are not a fault of the domain.
func (e *keyEvidence) unanswered() bool {
	failed := len(e.search.Failed)
	return failed > 0 && 2*failed >= e.tried
}

func (e *keyEvidence) advice() string {
	signs := kit.Map(e.services[:min(len(e.services), 2)],
		func(s *provider.Service) string { return "For " + s.Name + ": " + s.Sign })
	if len(signs) == 0 {
		return ""
	}
	return "Check again with the selectors that your mail is signed with (s= in the field DKIM-Signature of a message). " +
		"If it is not signed, set up signing. " + strings.Join(signs, " ")
}

func (e *keyEvidence) noKey() rule.Failures {
	if e.tried == 0 {
		return nil
	}
	detail := fmt.Sprintf("There is no key at %s.", phrase.Count(e.tried, "common selector"))
	if e.search.None {
		detail += fmt.Sprintf(" The name _domainkey.%s does not exist, so that there is no key at any other.", e.domain)
	}
	switch {
	case e.search.WildcardRevoked:
		detail += fmt.Sprintf(" The wildcard *._domainkey.%s has an empty key (p=), which revokes every other selector.",
			e.domain)
	case e.search.Wildcard:
		detail += fmt.Sprintf(" A wildcard below _domainkey.%s answers for all of them.", e.domain)
	}
	if failed := len(e.search.Failed); failed > 0 {
		detail = fmt.Sprintf("No key was found at %s. The lookup of %d of them failed: %s.",
			phrase.Count(e.tried, "common selector"), failed, diag.Reason(e.search.Err))
	}
	return rule.Failures{{Detail: detail, Advice: e.advice()}}
}

// keyRules are about a search that found no key. Most of them are ignorance: a selector cannot be guessed.
var keyRules = rule.Rules[*keyEvidence]{{
	Code: "check.dkim.record.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 6376 section 3.6.2",
	Title: "DKIM selectors could not be looked up", Requirement: "The name servers answer for the common selectors",
	Advice: "Check that every name server of the domain answers TXT queries, and try again.",
	When:   func(e *keyEvidence) bool { return !e.sendsNoMail },
	Fails: func(e *keyEvidence) rule.Failures {
		if !e.unanswered() {
			return nil
		}
		return rule.Fail("The lookup of %s of %s failed: %s.", phrase.Count(len(e.search.Failed), "common selector"),
			e.domain, diag.Reason(e.search.Err))
	},
}, {
	Code: codeUnneeded, NoAction: true, Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 7208 section 10.1.2",
	Title: "No DKIM key found, and none is needed", Requirement: "The domain sends mail and needs a DKIM key",
	Advice: "Leave it: mail that claims to come from the domain cannot be signed for it without a key.",
	Fails: func(e *keyEvidence) rule.Failures {
		if e.sendsNoMail && e.search.WildcardRevoked {
			return rule.Fail("%s sends no mail, as far as its records tell, and the wildcard *._domainkey.%s with an empty "+
				"key (p=) revokes every selector, as is recommended for such a domain.", e.domain, e.domain)
		}
		return rule.FailIf(e.sendsNoMail, "%s sends no mail, as far as its records tell.", e.domain)
	},
}, {
	Code: "check.dkim.none", Severity: diag.Error, StateIfFailed: diag.Missing,
	DependsOn: []diag.Code{"check.dkim.record.unknown", "check.dkim.unneeded"}, Ref: "RFC 8020 section 2",
	Title: "No DKIM key", Requirement: "The name _domainkey, below which keys are published, exists",
	Advice: "Set up DKIM signing at every service that sends for the domain, and publish the keys. If there are keys, " +
		"check again with their selectors (s= in the field DKIM-Signature of a message).",
	Fails: func(e *keyEvidence) rule.Failures {
		if !e.search.None {
			return nil
		}
		return e.noKey()
	},
}, {
	Code: "check.dkim.selector", Severity: diag.Info, StateIfFailed: diag.Unknown,
	DependsOn: []diag.Code{"check.dkim.record.unknown", "check.dkim.unneeded"}, Ref: "RFC 6376 section 3.1",
	Title: "No DKIM key found at the common selectors", Requirement: "There is a key at one of the common selectors",
	Advice: "Check again with the selectors that your mail is signed with (s= in the field DKIM-Signature of a " +
		"message): selectors cannot be listed, only tried.",
	When: func(e *keyEvidence) bool { return !e.search.None || e.senderUnknown }, Fails: (*keyEvidence).noKey,
}}

var keyTexts = rule.Texts{
	"valid":   {Headline: "DKIM key found", Sub: "There is a key at one of the selectors."},
	"unknown": {Headline: "No DKIM key found", Sub: "Check again with the selectors that your mail is signed with."},
	"check.dkim.record.unknown": {Headline: "DKIM selectors could not be looked up",
		Sub: "The name servers did not answer. Check them and try again."},
	"check.dkim.none": {Headline: "DKIM is not set up",
		Sub: "Large receivers ask senders to sign their mail. Set up signing, or name the selectors if there are keys."},
	"check.dkim.selector": {Headline: "No DKIM key at the common selectors",
		Sub: "Whether mail is signed is not known. Check again with the selectors that your mail is signed with."},
	"check.dkim.unneeded": {Headline: "No DKIM key found, and none is needed",
		Sub: "The domain sends no mail, as far as its records tell, so there is nothing to sign."},
}
