// Package watch looks at domains again and again, and tells their accounts what has changed.
package watch
