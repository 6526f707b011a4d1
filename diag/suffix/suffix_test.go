package suffix

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUndotted(t *testing.T) {
	for _, tt := range []struct {
		name, zone, meant string
		likely            bool
	}{
		{"mx.mail.example.net.example.com.", "example.com.", "mx.mail.example.net", true},
		{"MX.Example.NET.example.com", "EXAMPLE.com", "mx.example.net", true},
		{"example.net.example.com.", "example.com.", "example.net", true},
		{"example.com.example.com.", "example.com.", "example.com", true},
		{"mx.example.com.example.com.", "example.com.", "mx.example.com", true},
		{"mx.example.co.uk.example.co.uk.", "example.co.uk.", "mx.example.co.uk", true},
		{"shop.github.io.example.com.", "example.com.", "shop.github.io", true},
		{"mx.provider.example.dot.test.", "dot.test.", "mx.provider.example", true},
		{"provider.example.dot.test.", "dot.test.", "provider.example", true},
		{"mx.dot.test.dot.test.", "dot.test.", "mx.dot.test", true},
		{"s1._domainkey.example.net.example.com.", "example.com.", "s1._domainkey.example.net", true},
		{"mail.de.example.com.", "example.com.", "mail.de", false},
		{"api.dev.example.com.", "example.com.", "api.dev", false},
		{"de.example.com.", "example.com.", "", false},
		{"co.uk.example.com.", "example.com.", "", false},
		{"mx.example.com.", "example.com.", "", false},
		{"a.b.c.example.com.", "example.com.", "", false},
		{"example.com.", "example.com.", "", false},
		{"mx.example.net.", "example.com.", "", false},
		{"mx.badexample.com.", "example.com.", "", false},
		{"mx.example.net.", ".", "", false},
	} {
		meant, likely := Undotted(tt.name, tt.zone)
		assert.Equal(t, tt.meant, meant, tt.name)
		assert.Equal(t, tt.likely, likely, tt.name)
	}
}
