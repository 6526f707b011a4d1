package record

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/stretchr/testify/require"
)

const (
	logo = "https://brand.example.com/logo.svg"
	mark = "https://brand.example.com/mark.pem"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		fault      string // empty without a fault, not even a harmless one
		valid      bool
	}{
		{"logo and certificate", "v=BIMI1; l=" + logo + "; a=" + mark, "", true},
		{"semicolon at the end", "v=BIMI1; l=" + logo + "; a=" + mark + ";", "", true},
		{"logo alone", "v=BIMI1; l=" + logo, "", true},
		{"empty a", "v=BIMI1; l=" + logo + "; a=;", "", true},
		{"any order", "v=BIMI1; avp=brand; a=" + mark + "; l=" + logo, "", true},
		{"white space", "v = BIMI1 ; l = " + logo + " ; a = " + mark + " ", "", true},
		{"letter case of names", "V=BIMI1; L=" + logo + "; A=" + mark, "must be written v, in lower case", false},
		{"letter case of the scheme", "v=BIMI1; l=HTTPS://brand.example.com/logo.svg", "", true},
		{"compressed", "v=BIMI1; l=https://brand.example.com/logo.svgz", "", true},
		{"no suffix", "v=BIMI1; l=https://brand.example.com/logo?id=7", "", true},
		{"port", "v=BIMI1; l=https://brand.example.com:8443/logo.svg", "", true},
		{"declined", "v=BIMI1; l=; a=;", "", true},
		{"declined without a", "v=BIMI1; l=", "", true},
		{"declined but for some local parts", "v=BIMI1; l=; a=; lps=brand-indicators-;", "", true},
		{"avatar", "v=BIMI1; l=" + logo + "; avp=personal", "", true},
		{"all local parts", "v=BIMI1; l=" + logo + "; lps=", "", true},
		{"prefixes", "v=BIMI1; l=" + logo + "; lps=brand-one-noreply , brand-two-noreply", "", true},

		{"unknown tag", "v=BIMI1; l=" + logo + "; x=y", "x is not a tag of BIMI", true},
		{"tag of a draft", "v=BIMI1; l=" + logo + "; s=personal", "s is not a tag of BIMI", true},
		{"other avatar", "v=BIMI1; l=" + logo + "; avp=logo", "avp is neither brand nor personal", true},
		{"letter case of the avatar", "v=BIMI1; l=" + logo + "; avp=Brand", "avp is neither", true},
		{"empty prefix", "v=BIMI1; l=" + logo + "; lps=a,,b", "a comma in lps without a prefix", true},
		{"prefix with a dot", "v=BIMI1; l=" + logo + "; lps=no.reply", "not a letter, digit or hyphen", true},
		{"prefix with a hyphen in front", "v=BIMI1; l=" + logo + "; lps=-brand", "begins with a hyphen", true},
		{"long prefix", "v=BIMI1; l=" + logo + "; lps=" + strings.Repeat("a", 64), "longer than 63 characters", true},

		{"other version", "v=BIMI2; l=" + logo, "does not begin with v=BIMI1", false},
		{"letter case of the version", "v=bimi1; l=" + logo, "does not begin with v=BIMI1", false},
		{"version later", "l=" + logo + "; v=BIMI1", "does not begin with v=BIMI1", false},
		{"no l", "v=BIMI1; a=" + mark, "the record has no l", false},
		{"version alone", "v=BIMI1", "the record has no l", false},
		{"empty l, but a", "v=BIMI1; l=; a=" + mark, "l is empty although a names a certificate", false},
		{"twice", "v=BIMI1; l=" + logo + "; l=" + logo, "the tag l appears again", false},
		{"no semicolon", "v=BIMI1; l=" + logo + " a=" + mark, "no semicolon between l and a", false},
		{"no equals sign", "v=BIMI1; l=" + logo + "; a", "no equals sign", false},
		{"http", "v=BIMI1; l=http://brand.example.com/logo.svg", "uses http,", false},
		{"http certificate", "v=BIMI1; l=" + logo + "; a=http://brand.example.com/mark.pem", "uses http,", false},
		{"ftp", "v=BIMI1; l=ftp://brand.example.com/logo.svg", `has the scheme "ftp"`, false},
		{"data", "v=BIMI1; l=data:image/svg+xml,x", `has the scheme "data"`, false},
		{"no scheme", "v=BIMI1; l=brand.example.com/logo.svg", "has no https://", false},
		{"one slash", "v=BIMI1; l=https:/brand.example.com/logo.svg", "no two slashes", false},
		{"self", "v=BIMI1; l=" + logo + "; a=self", "has no https://", false},
		{"several", "v=BIMI1; l=" + logo + ",https://b.example.com/logo.svg", "has several URIs", false},
		{"comma", "v=BIMI1; l=https://brand.example.com/a,b.svg", "has a comma", false},
		{"encoded comma", "v=BIMI1; l=https://brand.example.com/a%2Cb.svg", "", true},
		{"address", "v=BIMI1; l=https://192.0.2.1/logo.svg", "fully qualified domain name", false},
		{"address of IPv6", "v=BIMI1; l=https://[2001:db8::1]/logo.svg", "fully qualified domain name", false},
		{"one label", "v=BIMI1; l=https://brand/logo.svg", "fully qualified domain name", false},
		{"localhost", "v=BIMI1; l=https://localhost/logo.svg", "fully qualified domain name", false},
		{"user", "v=BIMI1; l=https://a:b@brand.example.com/logo.svg", "user name", false},
		{"beyond ASCII", "v=BIMI1; l=https://brand.example.com/l\u00f6go.svg", "a character beyond ASCII", false},
		{"space", "v=BIMI1; l=https://brand.example.com/my logo.svg", "has a space, which is written %20", false},
		{"angle brackets", "v=BIMI1; l=<" + logo + ">", "quotation marks or brackets", false},
		{"percent sign", "v=BIMI1; l=https://brand.example.com/%zz.svg", "is not a URI", false},
		{"long", "v=BIMI1; l=https://brand.example.com/" + strings.Repeat("a", input.MaxURL), "longer than 8192 bytes", false},
		{"PNG", "v=BIMI1; l=https://brand.example.com/logo.PNG", "a PNG file", false},
		{"certificate as logo", "v=BIMI1; l=" + mark, "names a certificate", false},
		{"logo as certificate", "v=BIMI1; l=" + logo + "; a=" + logo, "names an image", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Parse(tt.text)
			require.Equal(t, tt.valid, r.Valid(), "%q", r.Errors())
			if tt.fault == "" {
				require.Empty(t, r.List.Faults)
				return
			}
			var texts []string
			for _, f := range r.List.Faults {
				texts = append(texts, f.Text)
				_ = r.List.Text[f.Offset : f.Offset+f.Length]
			}
			require.Contains(t, strings.Join(texts, "; "), tt.fault)
		})
	}
}

func TestRecord(t *testing.T) {
	r := Parse("v=BIMI1; l=" + logo + "; a=" + mark + "; avp=personal; lps=news , info-")
	require.Equal(t, logo, r.Location.URL.String())
	require.Equal(t, mark, r.Authority.URL.String())
	require.Equal(t, Personal, r.AvatarPreference)
	require.True(t, r.LocalPartSelectors)
	require.Equal(t, []string{"news", "info-"}, r.Prefixes)
	require.False(t, r.Declined)
	r = Parse("v=BIMI1; l=;")
	require.True(t, r.Declined)
	require.False(t, r.Location.Usable() || r.Authority.Usable() || r.LocalPartSelectors)
	require.Equal(t, Brand, r.AvatarPreference)
}

func FuzzParse(f *testing.F) {
	f.Add("v=BIMI1; l=" + logo + "; a=" + mark + "; avp=personal; lps=news , info-")
	f.Add("v=BIMI1; l=https://a,b; a=self; lps=,")
	f.Fuzz(func(t *testing.T, text string) {
		r := Parse(text)
		for _, fault := range r.List.Faults {
			_ = text[fault.Offset : fault.Offset+fault.Length]
		}
		if r.Valid() && !r.Declined && (!r.Location.Usable() || r.Location.URL.Scheme() != "https") {
			t.Errorf("%q is valid without a logo", text)
		}
		if r.Declined && (r.Location.Text != "" || r.Authority.Text != "") {
			t.Errorf("%q declines and does not", text)
		}
		if printed := r.List.String(); r.Valid() {
			again := Parse(printed)
			require.Empty(t, again.Errors(), "%q is printed as %q", text, printed)
		}
	})
}
