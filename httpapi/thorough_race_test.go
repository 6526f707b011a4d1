//go:build race

package httpapi

const thorough = false
