// Package agent says what an agent is. A [Spec] is its data: prompt, model,
// tools and plugins by name. A [Registry] holds specs beside the code that they
// name and resolves an id to a [Resolved] agent, which never changes while a
// run uses it. Everything is resolved once when the registry is built, so a
// spec that names what does not exist fails at start.
package agent
