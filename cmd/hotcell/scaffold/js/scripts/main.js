export default async function main(args, skill) {
  skill.progress(50, "Thinking");
  return { greeting: `Hello, ${args.name}!` };
}
