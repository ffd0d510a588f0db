import { slug } from "./slug.js";
import smallWords from "./small-words.json";

export default async (args, skill) => {
  const taken = new Set();
  const slugs = args.titles.map((title, i) => {
    skill.progress((100 * i) / args.titles.length, title);
    const base = slug(title, smallWords);
    if (base === "") {
      throw Object.assign(new Error(`the title ${JSON.stringify(title)} has no letter or digit`), { code: "no_words", retryable: false });
    }
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}-${n}`;
    taken.add(name);
    return name;
  });
  console.log(slugs.length, "slugs");
  skill.artifact("slugs.txt", slugs.join("\n") + "\n");
  skill.summary(`${slugs.length} slugs`);
  return { slugs };
};
