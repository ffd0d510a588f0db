export function slug(title, smallWords) {
  const words = title
    .normalize("NFD")
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, "")
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const kept = words.filter((word) => !smallWords.includes(word));
  return (kept.length > 0 ? kept : words).join("-");
}
