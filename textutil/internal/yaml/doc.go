// Package yaml parses and prints YAML 1.2.2: call [Parse]. [Stream.Check] reports whether keys are unique and tags
// fit, [Stream.Resolve] what a scalar is by the core schema, and [Stream.Format] prints the text anew.
//
// # How it works
//
// A stream is a list of documents, and a document is a tree of scalars, sequences, mappings and aliases (YAML 1.2.2
// section 3.2). Collections are written as blocks, by indentation, or in brackets. Only the colon after the first
// key of a block mapping reveals the mapping: the parser reads the key, then makes the mapping around it. It reads
// the text once and keeps the position of each node; scalars are evaluated when asked for. A node thus knows how it
// was written, and the printer can change the layout alone: comments, the style and text of scalars, anchors, tags
// and directives survive.
//
// Parsing checks the grammar, [Stream.Check] the data model (section 3.2.1): keys of a mapping are unique, and the
// kind of a node fits its tag.
//
// # Limits
//
// Input is untrusted. Aliases are never expanded in memory, depth is bounded by [MaxDepth], the text of tags by 8 MiB
// and nodes by the caller; beyond that is a [LimitError]. Everything else takes time and memory proportional to the
// text.
//
// # Why not a module
//
// The types of go.yaml.in/yaml/v4 are those of YAML 1.1. It finds equal keys in quadratic time, accepts lines inside
// brackets and quotes that the grammar forbids, refuses names and characters that it allows, and its printer loses
// comments, empty lines and the text of scalars. The tests use it as a second reader.
package yaml
