package compose

// Named lists the codes, and beginnings of codes, that the tables of this package name.
func Named() (list []string) {
	for code, r := range roots {
		list = append(append(list, string(code)), r.causes...)
	}
	for begin := range effects {
		list = append(list, begin)
	}
	for code := range gates {
		list = append(list, string(code))
	}
	for _, code := range lookups {
		list = append(list, string(code))
	}
	return list
}
