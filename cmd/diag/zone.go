package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/miekg/dns"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// zoneFlags holds the flags for unpublished records.
type zoneFlags struct {
	files, servers, ds []string
	annotate           string

	domain      string // the first argument that is one
	zones       []*overlay.Zone
	filesRead   int          // files
	err         error        // of a file
	annotations []annotation // not written yet
	deferred    bool         // they are written together at the end
}

func (z *zoneFlags) add(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringArrayVar(&z.files, "zone", nil,
		"zone file to check before it is published, or - for standard input; may be repeated")
	flags.StringArrayVar(&z.servers, "ns", nil,
		"name server that the domain will be delegated to, as ns1.example.net/192.0.2.1; may be repeated")
	flags.StringArrayVar(&z.ds, "ds", nil,
		"with --ns: data of a DS record that the parent zone will have; may be repeated")
	flags.StringVar(&z.annotate, "annotate", "", "print findings as annotations of the lines of --zone: github or gitlab")
	complete(root, "annotate", "github", "gitlab")
}

// check returns an error for flags that cannot be combined.
func (z *zoneFlags) check(a *app) error {
	switch {
	case z.ds != nil && z.servers == nil:
		return usagef("--ds needs --ns")
	case z.annotate != "" && z.annotate != "github" && z.annotate != "gitlab":
		return usagef("--annotate: %q is not github or gitlab", z.annotate)
	case z.annotate != "" && (a.formats.count() > 0 || a.batch.file != ""):
		return usagef("--annotate excludes other formats and -f")
	}
	return nil
}

// assignZoneField lets an operation that has a field zone have the flag.
func (z *zoneFlags) assignZoneField(params []httpapi.Param, values map[string]*[]string) {
	if slices.ContainsFunc(params, func(p httpapi.Param) bool { return p.Name == "zone" }) {
		*values["zone"], z.files = z.files, nil
	}
}

// findDomain finds the first argument that is a domain.
func (z *zoneFlags) findDomain(root *cobra.Command, args []string) {
	var flags pflag.FlagSet
	flags.AddFlagSet(root.PersistentFlags())
	flags.AddFlagSet(root.Flags())
	for i := commandIndex(&flags, args); i >= 0; i = commandIndex(&flags, args) {
		if t, err := target.Parse(args[i]); err == nil && t.Kind == target.Domain {
			z.domain = diag.MustDomain(t.Text).FQDN()
			return
		}
		args = args[i+1:]
	}
}

// readZones reads the zone files, once. Faults of one are annotated, and the others can be examined nevertheless.
func (a *app) readZones() error {
	z := &a.zone
	for ; z.filesRead < len(z.files) && (z.err == nil || z.annotate != ""); z.filesRead++ {
		name := z.files[z.filesRead]
		data, err := a.read(name)
		var zone *overlay.Zone
		if err == nil {
			zone, err = overlay.Parse(string(data), z.domain, name)
		}
		wrong, syntax := errors.AsType[*overlay.SyntaxError](err)
		if syntax {
			f := diag.Finding{Severity: diag.Error, Title: "Zone file not valid", Detail: wrong.Text}
			z.annotations = append(z.annotations, annotation{wrong.File, wrong.Line, f})
		}
		if err != nil {
			if z.err != nil {
				fmt.Fprintln(a.stderr, "diag:", printable(err.Error())) // the first is reported at the end
			}
			z.err = cmp.Or(z.err, err)
			continue
		}
		for _, w := range zone.Warnings {
			fmt.Fprintf(a.stderr, "diag: note: %s\n", printable(fmt.Sprintf("%s:%d: %s", name, w.Line, w.Text)))
		}
		z.zones = append(z.zones, zone)
	}
	if z.err != nil {
		return usageError{z.err}
	}
	return nil
}

// examineZones examines the zones whose files are given without an argument.
func (a *app) examineZones(cmd *cobra.Command) error {
	if err := a.checkSharedFlags(); err != nil {
		return err
	}
	fault := a.readZones()
	if fault != nil && a.zone.annotate == "" {
		return fault
	}
	a.zone.err, a.zone.deferred = nil, true
	worst := exitOK
	for _, z := range a.zone.zones {
		t, err := target.Parse(strings.TrimSuffix(z.Name, "."))
		if err == nil {
			err = a.overview(cmd.Context(), t)
		}
		fault = errors.Join(fault, err)
		if a.code == exitFinding || worst == exitOK {
			worst = a.code
		}
	}
	a.code, a.zone.deferred = worst, false
	if a.zone.annotate != "" {
		fault = errors.Join(fault, a.writeAnnotations(nil))
	}
	return fault
}

// overlayZones overlays unpublished records on the environment.
func (a *app) overlayZones(env *diag.Env) (*diag.Env, error) {
	if err := a.readZones(); err != nil {
		if a.zone.annotate != "" {
			err = errors.Join(err, a.writeAnnotations(nil))
		}
		return nil, err
	}
	zones := slices.Clone(a.zone.zones)
	if len(a.zone.servers) > 0 {
		if a.zone.domain == "" {
			return nil, usagef("--ns: name the domain to delegate")
		}
		ctx, cancel := context.WithTimeout(context.Background(), a.timeout)
		defer cancel()
		d, err := overlay.ParseDelegation(ctx, env, a.zone.domain, a.zone.servers, a.zone.ds)
		if err != nil {
			return nil, usageError{err}
		}
		zones = append(zones, overlay.Delegated(env, d))
	}
	if len(zones) == 0 {
		return env, nil
	}
	return env.WithResolver(overlay.New(env.DNS(), zones...)), nil
}

type annotation struct {
	file    string // empty if it is about no file
	line    int
	finding diag.Finding
}

// A recordPlace locates the record of a family of findings: the label below the domain, the type, and its
// prefix.
type recordPlace struct {
	label      string
	rrtype     uint16
	textPrefix string
}

var recordPlaces = map[string]recordPlace{
	"spf": {"", dns.TypeTXT, "v=spf1"}, "dkim": {"", dns.TypeTXT, "v=DKIM1"},
	"dmarc": {"_dmarc.", dns.TypeTXT, ""}, "dmarcbis": {"_dmarc.", dns.TypeTXT, ""},
	"mtasts": {"_mta-sts.", dns.TypeTXT, ""}, "tlsrpt": {"_smtp._tls.", dns.TypeTXT, ""},
	"bimi": {"default._bimi.", dns.TypeTXT, ""},
	"mx":   {"", dns.TypeMX, ""}, "smtp": {"", dns.TypeMX, ""}, "dane": {"_25._tcp.", dns.TypeTLSA, ""},
}

// locate returns the locations of the findings of a view, in the same order: in the file of the zone that the subject
// is in, or in the only one.
func (a *app) locate(v *view.View) []annotation {
	var z *overlay.Zone
	subject, _ := diag.ParseName(v.Subject)
	contains := func(z *overlay.Zone) bool { return !subject.IsZero() && dns.IsSubDomain(z.Name, subject.FQDN()) }
	for _, other := range a.zone.zones {
		if (contains(other) || len(a.zone.zones) == 1) && (z == nil || len(other.Name) > len(z.Name)) {
			z = other
		}
	}
	return kit.Map(v.Findings, func(f diag.Finding) annotation {
		if z == nil {
			return annotation{finding: f}
		}
		for _, s := range v.Steps {
			if line := z.Line(s.Name, dns.StringToType[s.Type]); s.Code == f.Code && s.Value != "" && line > 0 {
				return annotation{z.File, line, f}
			}
		}
		name := z.Name
		if contains(z) {
			name = subject.FQDN()
		}
		return annotation{z.File, lineOf(z, name, f), f}
	})
}

// lineOf returns the line of the record that a finding is about; without one, that of the name, the zone, or the
// file.
func lineOf(z *overlay.Zone, name string, f diag.Finding) (line int) {
	family, _, _ := strings.Cut(string(f.Code), ".")
	split := func(r rune) bool { return strings.ContainsRune(` :"“”`, r) }
	about := append(strings.FieldsFunc(strings.TrimPrefix(f.Target, "include:"), split), "")
	target := strings.ToLower(about[0]) // of a host with its address or port, the host
	named := dns.CanonicalName(target)
	where, known := recordPlaces[family]
	for _, r := range z.Records {
		h := r.RR.Header()
		owners := []string{where.label + name, where.label + named, named}
		if !known || h.Rrtype != where.rrtype || !slices.Contains(owners, h.Name) {
			continue
		}
		if txt, ok := r.RR.(*dns.TXT); ok && !strings.HasPrefix(dnsmsg.TXT(txt), where.textPrefix) {
			continue
		}
		data := strings.ToLower(r.RR.String()[len(h.String()):])
		if line == 0 || target != "" && named != name && (h.Name != where.label+name || strings.Contains(data, target)) {
			line = r.Line // of several that which the target names, or that names the target
		}
	}
	return cmp.Or(line, z.Line(named, 0), z.Line(name, 0), z.Line(z.Name, 0), 1)
}

// addLocations adds the locations of their records to the findings.
func (a *app) addLocations(v *view.View) {
	if a.zone.annotate != "" {
		return
	}
	v.Findings = kit.Map(a.locate(v), func(p annotation) diag.Finding {
		if p.file != "" {
			p.finding.Detail += fmt.Sprintf(" (%s:%d)", p.file, p.line)
		}
		return p.finding
	})
}

func (a *app) writeAnnotations(list []annotation) error {
	list = append(a.zone.annotations, list...)
	if a.zone.annotations = nil; a.zone.deferred {
		a.zone.annotations = list
		return nil
	}
	if a.zone.annotate == "gitlab" {
		return a.writeOut(gitlabReport(list))
	}
	var b strings.Builder
	for _, n := range list {
		place, title := "", n.finding.Title
		if n.file != "" {
			place = fmt.Sprintf("file=%s,line=%d,", inProperty.Replace(n.file), max(n.line, 1))
		}
		if n.finding.Code != "" {
			title += " (" + string(n.finding.Code) + ")"
		}
		level, text := []string{"notice", "warning", "error", "error"}[n.finding.Severity], annotationText(n.finding)
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", level, place, inProperty.Replace(title), inMessage.Replace(text))
	}
	return a.writeOut([]byte(b.String()))
}

// What GitHub reads as more than text (actions/toolkit, command.ts).
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotationText(f diag.Finding) string { return strings.TrimSpace(f.Detail + "\n" + f.Advice) }

// gitlabReport writes a code quality report (docs.gitlab.com/ci/testing/code_quality, "Code Quality report format").
func gitlabReport(list []annotation) []byte {
	type issue struct {
		Description string         `json:"description"`
		CheckName   string         `json:"check_name"`
		Fingerprint string         `json:"fingerprint"`
		Severity    string         `json:"severity"`
		Location    map[string]any `json:"location"`
	}
	severity := []string{"info", "minor", "major", "critical"} // in the order of ours
	issues := []issue{}
	seen := map[string]int{}
	for _, n := range list {
		key := fmt.Sprintf("%s|%s|%s", n.file, n.finding.Code, n.finding.Target) // without the line, which moves
		seen[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s|%d", key, seen[key]))
		issues = append(issues, issue{
			n.finding.Title + ": " + annotationText(n.finding),
			cmp.Or(string(n.finding.Code), "zone"), hex.EncodeToString(sum[:16]),
			severity[n.finding.Severity],
			map[string]any{"path": cmp.Or(n.file, "."), "lines": map[string]int{"begin": max(n.line, 1)}},
		})
	}
	text, _ := json.MarshalIndent(issues, "", "  ") // strings and numbers always can be written
	return append(text, '\n')
}
