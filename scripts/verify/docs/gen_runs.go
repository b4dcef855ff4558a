package main

// terminationTable lists how runs end.
func terminationTable(root string) (string, error) {
	return constantTable(root, "core/run.go", "TerminationType", "Termination")
}

// resultTable lists the statuses of tool results.
func resultTable(root string) (string, error) {
	return constantTable(root, "core/message.go", "ResultStatus", "Status")
}

// constantTable lists the constants of a type with their comments.
func constantTable(root, path, kind, header string) (string, error) {
	file, err := sourceFile(root, path)
	if err != nil {
		return "", err
	}
	all, err := constants(file, kind)
	if err != nil {
		return "", err
	}
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{code(c.value, ""), sentence(c.comment)})
	}
	return table([]string{header, "Meaning"}, rows), nil
}
