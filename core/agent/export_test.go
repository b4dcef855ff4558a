package agent

// ToolPattern shows tests which names a pattern matches.
type ToolPattern = toolPattern

// ParseToolPattern shows tests which patterns are allowed.
var ParseToolPattern = parseToolPattern
