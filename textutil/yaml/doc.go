// Package yaml reads and prints YAML 1.2.2. Call [Parse]; [Stream.Check] tells whether keys are unique and
// tags fit, [Stream.Resolve] what a scalar is by the core schema, and [Stream.Format] prints the text anew.
//
// # How it works
//
// A stream is a list of documents, and a document is a tree of scalars, sequences, mappings and aliases (YAML
// 1.2.2 section 3.2). Collections are written in blocks, where columns tell what belongs together, or in
// brackets. A mapping of a block begins with its first key, and only the colon behind it tells that it is a
// key: the parser reads the key, and then makes the mapping around it. It goes through the text once and keeps
// of each node where it is written; what a scalar says is worked out when it is asked for. So a node knows how
// it was written, and the printer can change the layout alone: comments, the style and the text of scalars,
// anchors, tags and directives survive.
//
// Parsing holds a text to the grammar. Checking holds it to the model behind (section 3.2.1): keys of a mapping
// are unique, and the kind of a node fits its tag.
//
// # What a text may cost
//
// Texts come from anybody. Nothing that aliases stand for is copied, depth is bounded by [MaxDepth], tags by maxTags
// and nodes by the caller; what is beyond is a [LimitError]. All else takes time and memory in proportion to the text.
package yaml
