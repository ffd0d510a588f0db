import hotcell

args = hotcell.arguments()
rule = hotcell.tool("read_file", path="references/rounding.md")["text"]
decimals = int(rule.split()[2])
total = sum(args["weights"].values())

shares = {}
for n, (name, weight) in enumerate(args["weights"].items(), 1):
    expression = f"round({args['amount']} * {weight} / {total}, {decimals})"
    shares[name] = hotcell.tool("calculator", expression=expression)["result"]
    hotcell.progress(100 * n / len(args["weights"]), name)

hotcell.result({"shares": shares, "at": hotcell.tool("time")["utc"]}, summary=rule.strip())
