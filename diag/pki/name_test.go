package pki

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func sprint(v any) string { return fmt.Sprint(v) }

func oid(numbers ...int) asn1.ObjectIdentifier { return numbers }

func TestParseName(t *testing.T) {
	tests := []struct {
		name string
		rdns pkix.RDNSequence
		want string
	}{
		{"empty", pkix.RDNSequence{}, ""},
		{"last first", pkix.RDNSequence{
			{{Type: oid(2, 5, 4, 6), Value: "DE"}}, {{Type: oid(2, 5, 4, 3), Value: "mail"}},
		}, "CN=mail,C=DE"},
		{"several values in one, which DER sorts by length", pkix.RDNSequence{
			{{Type: oid(2, 5, 4, 10), Value: "Acme"}, {Type: oid(2, 5, 4, 11), Value: "Ops"}},
		}, "OU=Ops+O=Acme"},
		{"special characters", pkix.RDNSequence{
			{{Type: oid(2, 5, 4, 3), Value: " #a,b+c\"d\\e<f>g;h "}},
		}, `CN=\ #a\,b\+c\"d\\e\<f\>g\;h\ `},
		{"leading number sign", pkix.RDNSequence{{{Type: oid(2, 5, 4, 3), Value: "#1"}}}, `CN=\#1`},
		{"control characters", pkix.RDNSequence{{{Type: oid(2, 5, 4, 3), Value: "a\x00\n"}}}, `CN=a\00\0a`},
		{"beyond ASCII", pkix.RDNSequence{{{Type: oid(2, 5, 4, 7), Value: "Köln"}}}, "L=Köln"},
		{"domain component", pkix.RDNSequence{
			{{Type: oid(0, 9, 2342, 19200300, 100, 1, 25), Value: "com"}},
			{{Type: oid(0, 9, 2342, 19200300, 100, 1, 25), Value: "example"}},
		}, "DC=example,DC=com"},
		{"kind without a short name", pkix.RDNSequence{{{Type: oid(1, 2, 3), Value: "x"}}}, "1.2.3=#130178"},
		{"value that is no text", pkix.RDNSequence{{{Type: oid(2, 5, 4, 3), Value: 5}}}, "2.5.4.3=#020105"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			der, err := asn1.Marshal(tt.rdns)
			require.NoError(t, err)
			require.Equal(t, tt.want, ParseName(der).Raw)
		})
	}
}

func TestParseNameFields(t *testing.T) {
	der, err := asn1.Marshal(pkix.Name{
		CommonName: "example.com", Organization: []string{"Acme", "Umbrella"}, OrganizationalUnit: []string{"Ops"},
		Country: []string{"DE"}, Locality: []string{"Bonn"}, Province: []string{"NRW"}, SerialNumber: "HRB 1",
	}.ToRDNSequence())
	require.NoError(t, err)
	n := ParseName(der)
	require.Equal(t, Name{
		CommonName: "example.com", Organization: []string{"Acme", "Umbrella"}, OrganizationalUnit: []string{"Ops"},
		Country: []string{"DE"}, Locality: []string{"Bonn"}, Province: []string{"NRW"}, SerialNumber: "HRB 1",
		Raw: n.Raw,
	}, n)
}

func TestParseNameStringTypes(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"UTF8String", "0c03c3a461", "ä" + "a"},
		{"UTF8String with bad bytes", "0c02ff61", "\uFFFDa"},
		{"PrintableString", "130161", "a"},
		{"IA5String", "160161", "a"},
		{"NumericString", "120131", "1"},
		{"T61String", "1401e4", "ä"},
		{"BMPString", "1e0400e40061", "äa"},
		{"BMPString of odd length", "1e0300e461", "ä"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value, err := hex.DecodeString(tt.value)
			require.NoError(t, err)
			atv := append([]byte{0x30, byte(5 + len(value)), 6, 3, 0x55, 4, 3}, value...)
			set := append([]byte{0x31, byte(len(atv))}, atv...)
			der := append([]byte{0x30, byte(len(set))}, set...)
			require.Equal(t, tt.want, ParseName(der).CommonName)
		})
	}
}

func TestParseNameBounds(t *testing.T) {
	rdns := make(pkix.RDNSequence, 10*maxAttributes)
	for i := range rdns {
		rdns[i] = pkix.RelativeDistinguishedNameSET{{Type: oid(2, 5, 4, 11), Value: "x"}}
	}
	der, err := asn1.Marshal(rdns)
	require.NoError(t, err)
	require.Len(t, ParseName(der).OrganizationalUnit, maxAttributes)
}

func FuzzParseName(f *testing.F) {
	f.Add([]byte{0x30, 0})
	f.Add([]byte{0x30, 0x0c, 0x31, 0x0a, 0x30, 8, 6, 3, 0x55, 4, 3, 0x0c, 1, 'a'})
	f.Fuzz(func(t *testing.T, der []byte) {
		n := ParseName(der)
		if n.Organization == nil || n.Country == nil {
			t.Error("a list is nil")
		}
		if len(n.Raw) > 16*len(der) {
			t.Errorf("%d bytes became %d", len(der), len(n.Raw))
		}
	})
}
