// Package pattern matches tool calls, for rules that allow, deny or ask about them
// and for reminders.
//
//	Bash                                    every call of the tool Bash
//	mcp__github__*                          every call of the tools whose names match a glob
//	/^mcp__(gh|gl)__/                       every call of the tools whose names contain a match
//	Bash(npm *)                             calls whose primary argument matches a glob
//	Edit(file_path ~ "src/*", mode != "x")  calls for which all conditions hold
//
// [Parse] compiles a pattern, [NewCall] prepares a call, [Pattern.Match] compares them.
// [Text] and [Condition] are the parts, for code that matches other values.
//
// # Tools
//
// A name in slashes is a regular expression of package regexp. It is searched for anywhere
// in the tool's name: anchor it with ^ and $. A slash in it is written \/, or is in
// parentheses. Any other name ends at a blank or a parenthesis; with a *, ? or [ in it, it
// is a glob, otherwise exact. All of them distinguish upper from lower case; (?i) starts a
// regular expression that does not.
//
// # Globs
//
// A glob matches a whole text. * matches any characters, none, slashes and line breaks
// included, ? any one character, [abc], [a-z] and [!a-z] (or [^a-z]) one of a class; a ]
// directly after the opening is a character of it. Every other character matches itself: **
// is *, {a,b} are five characters and a leading ! negates nothing. To match a wildcard
// itself, write it as a class: [*]. A backslash before a wildcard is an error, because
// readers disagree on its meaning.
//
// # The primary argument
//
// Parentheses without conditions hold a glob of the primary argument: the value of
// the only member of the arguments (members whose names differ in case alone are
// one); else the one required property of type string that the tool's schema has;
// else the arguments as compact JSON. Blanks around the glob do not count,
// parentheses in it are balanced or in a class. (*) is the same as no parentheses.
// The primary argument can depend on other arguments that the model sends: a rule that must
// not be evaded names its field.
//
// # Conditions
//
// A condition is a field, an operator and a value in double or single quotes.
//
//	~   glob      !~   not
//	=   exact     !=   not
//	=~  regex     !=~  not; a search, unanchored
//
// In the value a backslash before the quote or a backslash is an escape, and before
// anything else a character; regular expressions need no doubled ones.
//
// A field is a path of names with dots between them. A name consists of A-Z, a-z,
// 0-9, _ and -; * is every member of an object, with any name; [n] after a name is an
// element of an array, from 0, and [*] every one.
//
// A condition holds if any value that its path leads to passes, for negative operators too.
// If there is no such value, it does not hold, for any operator. So paths[*] !~ "src/*"
// denies a call with one path outside of src, while paths[*] ~ "src/*" does not require
// that all of them are within it.
//
// # What is compared
//
// Values are compared as tools decode them, and not as the model wrote them. A string is
// its content, with \u0072 as r and invalid UTF-8 as U+FFFD; null is the empty text; true
// and false are themselves. A number is an integer in digits or the shortest form of the
// nearest float64, so that 1e0 is 1; = and != compare numbers whose spelling differs.
// Arrays and objects are compact JSON, without blanks, sorted by name and with only those
// escapes that JSON demands.
//
// Nothing is normalized: upper and lower case differ, é as one character or as e
// with an accent differ, a NUL or a line break is a character like others. A rule that
// must not be evaded asks a loose pattern ([Pattern.Loose]), which matches more.
//
// # Arguments with two meanings
//
// JSON does not define which of two members of one name counts, and encoding/json decodes
// COMMAND into the field command if that exists. Each choice is a reading of the arguments.
// [Pattern.Match] reports whether a pattern matches under at least one of them,
// [Pattern.MatchEvery] whether it does so under all. Rules that deny or ask use the first,
// rules that allow the second. A call that hides one command in a second reading is denied
// by the rule against either and allowed by neither's.
//
// # What a pattern cannot do
//
// A pattern compares texts. It knows neither quoting in a shell nor links in a file system:
// a rule against Bash(rm *) does not see "\rm x" or "cd /; rm x". To prevent an action, do
// not offer the tool, and allow narrowly.
//
// # Limits
//
// A pattern has at most [MaxLength] bytes, its regular expressions compile to at
// most [MaxRegex] instructions. The time of a match is bounded by the size of the
// arguments times that of the pattern; there is no backtracking. For arguments of 256
// KB that is milliseconds, nearly all of them for parsing the arguments once, and
// seconds for the largest regular expression.
package pattern
