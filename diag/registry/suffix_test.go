package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The registered domain is one label below a suffix with a registry.
func TestRegisteredDomain(t *testing.T) {
	tests := []struct {
		domain, want string
		suffix       bool
	}{
		{"example.com", "example.com", false},
		{"www.example.com", "example.com", false},
		{"a.b.example.co.uk", "example.co.uk", false},
		{"co.uk", "co.uk", true},
		{"com", "com", true},
		{"user.github.io", "github.io", false},
		{"github.io", "github.io", false},
		{"a.b.uk.com", "b.uk.com", false},
		{"www.example.unlisted", "example.unlisted", false},
		{"www.xn--bcher-kva.example", "xn--bcher-kva.example", false},
		{"www.s3.dualstack.us-east-1.amazonaws.com", "amazonaws.com", false},
		{"www.ck", "www.ck", false},
	}
	for _, tt := range tests {
		t.Run(tt.domain, func(t *testing.T) {
			got, suffix := new(Client).registered(tt.domain)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.suffix, suffix)
		})
	}
}
