#!/usr/bin/env python3
"""Writes a crawl: links between URLs, the same links between numbers, and a table of the pages.

usage: crawl_data.py FOLDER [LINKS] [PAGES]      2 000 000 links between 300 000 pages unless said otherwise

FOLDER/crawl.tsv has a link on each line, two URLs of 72 bytes on average and a tab; FOLDER/numbers.tsv has the same links by
numbers of pages. FOLDER/pages.csv has url,title,language for nine pages of ten. Needs numpy. The files depend on the two numbers
alone.
"""
import os
import sys

import numpy as np

SITES, WORDS = 4000, "about archive blog data events figures guide help index jobs library map news people press shop".split()


def urls_of(pages, rng):
    site, words, length = rng.zipf(1.5, pages) % SITES, rng.integers(0, len(WORDS), (pages, 2)), rng.integers(18, 34, pages)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    tail = rng.integers(0, len(letters), (pages, 34))
    return [f"https://www.site-{site[i]:04d}.example/{WORDS[words[i, 0]]}/{WORDS[words[i, 1]]}/"
            + "".join(letters[k] for k in tail[i, :length[i]]) + f"-{i}" for i in range(pages)]


def main():
    folder = sys.argv[1]
    links, pages = (int(sys.argv[k]) if len(sys.argv) > k else most for k, most in ((2, 2_000_000), (3, 300_000)))
    rng = np.random.default_rng(33)
    urls = urls_of(pages, rng)
    source = rng.integers(0, pages, links)
    target = np.minimum(rng.pareto(0.8, links) * pages / 2000, pages - 1).astype(np.int64)  # some pages have many links
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "crawl.tsv"), "w") as file:
        file.writelines(f"{urls[i]}\t{urls[j]}\n" for i, j in zip(source.tolist(), target.tolist()))
    with open(os.path.join(folder, "numbers.tsv"), "w") as file:
        file.writelines(f"{i}\t{j}\n" for i, j in zip(source.tolist(), target.tolist()))
    with open(os.path.join(folder, "pages.csv"), "w") as file:
        file.write("url,title,language\n")
        file.writelines(f'{url},"Page {i}, of {url.split("/")[2]}",{"en" if i % 3 else "fr"}\n'
                        for i, url in enumerate(urls) if i % 10)


if __name__ == "__main__":
    sys.exit(main())
