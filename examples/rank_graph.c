/* Ranks a graph held in memory by PageRank:  rank_graph [cuda] */
#include <stdio.h>
#include <windrow/windrow.h>

enum { PAGES = 6, LINKS = 9 };

/* Page 5 links to none; the link 0 -> 1 is there twice and counts once. */
static const int32_t link_from[LINKS] = {0, 3, 0, 2, 1, 4, 3, 2, 0}, link_to[LINKS] = {1, 2, 2, 0, 2, 2, 5, 3, 1};

int main(int argc, char **argv) {
  wr_matrix *links = NULL;
  wr_rank_options options;
  wr_rank_result result;
  double scores[PAGES];
  WR_INIT(options);
  WR_INIT(result);
  options.tolerance = 1e-12;
  options.device = argc > 1 ? argv[1] : "cpu";
  wr_status status = wr_matrix_new_coo(PAGES, PAGES, LINKS, link_from, link_to, NULL, 1, &links);
  if (status == WR_OK) status = wr_rank(links, scores, &options, &result);
  if (status == WR_OK)
    for (int i = 0; i < PAGES; i++) printf("page %d  %.12f\n", i, scores[i]);
  else
    fprintf(stderr, "rank_graph: %s\n", wr_status_message());
  wr_matrix_free(links);
  return wr_status_exit_code(status);
}
