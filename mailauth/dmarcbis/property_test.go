package dmarcbis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/stretchr/testify/require"
)

// values are the possible values of tags in generated records.
var values = map[string][]string{
	"p": {"none", "quarantine", "reject", "Reject", "rejct", ""}, "sp": {"none", "quarantine", "reject", "x"},
	"np": {"none", "quarantine", "reject", "y"}, "pct": {"0", "1", "50", "99", "100", "101", "x"},
	"t": {"y", "n", "Y", "maybe"}, "psd": {"y", "n", "u", "x"}, "adkim": {"r", "s", "strict"}, "aspf": {"r", "s", ""},
	"rua": {"mailto:a@example.com", "mailto:a@example.com!10m,mailto:b@example.net", "a@example.com", "mailto:",
		"https://x.example/",
		"mailto:a@example.com , mailto:c%21d@example.com", "mailto:a@example.com;ruf=mailto:f@example.com!1k"},
	"ruf": {"mailto:f@example.org", "mailto:f@example.org!5g", "x"}, "fo": {"0", "1", "0:1", "d:s", "1:d:s", "7", "s:0"},
	"rf": {"afrf", "iodef"}, "ri": {"86400", "3600", "x"}, "other": {"1", "\xff"},
}

// generate returns a record of random tags in random order, some of them twice, some without a semicolon.
func generate(random *rand.Rand) string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	record := "v=DMARC1"
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if random.IntN(3) > 0 {
		names = slices.DeleteFunc(names, func(s string) bool { return s == "p" })
		names = append([]string{"p"}, names...)
	}
	separators := []string{"; ", "; ", "; ", ";", " ; ", "; ", "; ", "; ", "; ; ", " "}
	for _, name := range names[:random.IntN(len(names)+1)] {
		for range 1 + random.IntN(12)/11 {
			separator := separators[random.IntN(len(separators))]
			if record == "v=DMARC1" {
				separator = "; "
			}
			record += separator + name + "=" + values[name][random.IntN(len(values[name]))]
		}
	}
	return record
}

func FuzzMigrate(f *testing.F) {
	for _, seed := range []string{
		"v=DMARC1; p=reject; pct=100; rua=mailto:dmarc@example.com!10m",
		"v=DMARC1;p=quarantine;pct=50;sp=none;ri=1;rf=afrf;fo=0:1",
		"v=DMARC1; rua=mailto:a@example.com p=reject", "v=DMARC1; p=none; p=reject;;x", "v=dmarc1; p=none",
		"\"v=DMARC1;\" \"p=none\"", "",
	} {
		f.Add(seed, "reject", "n")
	}
	f.Fuzz(func(t *testing.T, record, np, psd string) {
		req := MigrateRequest{Record: record}
		if slices.Contains(policy.None.Values(), np) {
			req.NonexistentSubdomainPolicy = policy.Policy(np)
		}
		if slices.Contains(policy.IsPSD.Values(), psd) {
			req.PSD = policy.PSD(psd)
		}
		if strings.TrimSpace(record) == "" || len(record) > dmarc.MaxRecordLength/2 {
			return // Migrate refuses some of them
		}
		checkMigration(t, req)
	})
}

// checkMigration holds a migration to what it claims.
func checkMigration(t *testing.T, req MigrateRequest) *MigrateReport {
	r, err := Migrate(req)
	require.NoError(t, err)
	c := convert(req)
	about := fmt.Sprintf("%q became %q", c.original, c.migrated)

	unparted := slices.ContainsFunc(c.before.List.Faults, func(f taglist.Fault) bool { return f.Kind == taglist.MissingSemicolon })
	for i, lists := range [][2][]policy.URI{
		{c.before.AggregateURIs, c.after.AggregateURIs}, {c.before.FailureURIs, c.after.FailureURIs},
	} {
		if unparted { // an address may have been read as one of the tag before
			lists[1] = slices.Concat(lists[1], c.after.AggregateURIs, c.after.FailureURIs)
		}
		for _, u := range lists[0] {
			same := func(other policy.URI) bool { return other.Valid() && other.URI == u.URI }
			require.True(t, !u.Valid() || slices.ContainsFunc(lists[1], same), "%s: %s of list %d is lost", about, u.URI, i)
		}
	}

	again := req
	again.Record = c.migrated
	require.False(t, convert(again).altered(), "%s: another migration changes it to %q", about, convert(again).migrated)

	if c.before.Is() {
		for _, tag := range []string{"pct", "rf", "ri"} { // RFC 9989 appendix C.5.2
			require.True(t, !c.after.Has(tag) || tag == "pct" && hasTestingFlag(&c.before) && !c.before.Testing, about)
		}
	}
	if req.NonexistentSubdomainPolicy == "" && len(c.before.Repeated()) == 0 && c.before.PolicyFirst() { // nor for either kind of receiver
		for _, one := range slices.Concat(compare(inForce(&c.before, policy.RFC9989), inForce(&c.after, policy.RFC9989)),
			compare(inForce(&c.before, policy.RFC7489), inForce(&c.after, policy.RFC7489))) {
			require.NotEqual(t, Stricter, one.Change, "%s: %+v", about, one)
		}
	}
	claims := map[Scope]Behavior{}
	for _, one := range r.Comparisons {
		claims[one.Scope] = one.Change
	}
	require.Equal(t, drawn(&c.before, &c.after), claims, about)
	require.Equal(t, r.BehaviorChange == Stricter, strict(r.Findings), about)

	for _, one := range r.Recommendations {
		if v := one.SuggestedValue; v != "" {
			s := policy.Parse(v)
			require.Empty(t, s.List.Errors(), v)
			old, new := treatmentsUnder(&s, policy.RFC7489), treatmentsUnder(&s, policy.RFC9989)
			require.Equal(t, old[:2], new[:2], v) // RFC 7489 has no np
			require.Equal(t, treatmentsUnder(&c.after, policy.RFC9989), treatmentsUnder(&s, policy.RFC9989), v)
			require.Equal(t, c.after.AggregateURIs, moved(s.AggregateURIs, c.after.AggregateURIs), v)
		}
	}
	return r
}

// inForce returns how receivers treat mail under a record, which is not at all if they cannot use it.
func inForce(r *policy.Record, s policy.Standard) treatments {
	if !r.Reading(s).Usable {
		return newTreatments(policy.Policies{}, 100)
	}
	return treatmentsUnder(r, s)
}

func strict(list []diag.Finding) bool {
	return slices.ContainsFunc(list, func(f diag.Finding) bool { return f.Code == "dmarcbis.migrate.stricter" })
}

// moved gives URIs the positions of others.
func moved(list, others []policy.URI) []policy.URI {
	for i := range list {
		if i < len(others) {
			list[i].Offset, list[i].Length = others[i].Offset, others[i].Length
		}
	}
	return list
}

// drawn compares two records message by message: each of a hundred draws a lot, by which pct decides.
func drawn(before, after *policy.Record) map[Scope]Behavior {
	changes := map[Scope]Behavior{}
	for _, scope := range []Scope{ScopeDomain, ScopeSubdomains, ScopeNonexistent} {
		changes[scope] = Same
		for lot := range 100 {
			old, new := fate(before, scope, lot), fate(after, scope, lot)
			switch {
			case new > old:
				changes[scope] = Stricter
			case new < old && changes[scope] == Same:
				changes[scope] = Looser
			}
		}
	}
	return changes
}

// fate returns how severely one message is treated: 0 to 2.
func fate(r *policy.Record, scope Scope, lot int) int {
	reading := r.Reading(policy.RFC9989)
	p := reading.Requested.Domain
	switch scope {
	case ScopeSubdomains:
		p = reading.Requested.Subdomain
	case ScopeNonexistent:
		p = reading.Requested.Nonexistent
	}
	level := p.Level()
	value := ""
	if t, ok := r.List.Tag("t"); ok {
		value = strings.ToLower(t.Value)
	}
	if value == "y" || value != "n" && lot >= r.Percentage {
		level = max(0, level-1)
	}
	return level
}
