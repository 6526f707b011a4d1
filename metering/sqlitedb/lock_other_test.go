//go:build !linux

package sqlitedb

func lockedByOthers(string) (bool, error) { panic("not asked on this system") }

func openMounted(string) error { panic("not asked on this system") }
