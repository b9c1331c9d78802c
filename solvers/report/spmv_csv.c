#include <inttypes.h>

#include "solvers/report/csv.h"
#include "solvers/report/report_text.h"
#include "solvers/report/sectors.h"
#include "solvers/report/spmv_table.h"

void wr_spmv_csv_begin(FILE *out) {
  fputs("matrix,family,nrows,ncols,nnz,precision,values,vectors,label,place,status,reason,hot_s,hot_low_s,hot_high_s,"
        "bytes,bytes_per_s,csr_bytes,csr_bytes_per_s,prepare_s,memory_bytes,verified,by,multiplies,saves_s,"
        "pays_at,worth\n",
        out);
}

/* The fields of the matrix, each with its comma. */
static void write_matrix(FILE *out, const wr_problem_facts *facts) {
  char family[WR_FAMILY_ROOM];
  wr_csv_text(out, facts->source);
  fprintf(out, ",%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,", wr_spmv_family(facts->source, family), facts->nrows,
          facts->ncols, facts->nnz, facts->precision, facts->has_values ? "yes" : "no");
}

static void write_error(FILE *out, const wr_error *error) {
  fprintf(out, "%s,", wr_status_name(error->status));
  wr_csv_text(out, error->text);
}

static void write_real(FILE *out, double value) {
  fputc(',', out);
  wr_csv_real(out, value);
}

static void write_measurements(FILE *out, const wr_spmv_table *t, int k) {
  const wr_run *run = &t->runs[k];
  const wr_sample *hot = &t->times[k].hot;
  double csr_bytes = (double)wr_plain_apply_bytes(t->A, t->type, wr_spmv_vectors(t));
  write_real(out, run->apply_median);
  if (hot->count > 0)
    write_real(out, hot->low), write_real(out, hot->high);
  else
    fputs(",,", out);
  write_real(out, run->info.apply_bytes);
  write_real(out, run->info.apply_bytes / run->apply_median);
  write_real(out, csr_bytes);
  write_real(out, csr_bytes / run->apply_median);
  write_real(out, run->setup);
  fprintf(out, ",%" PRId64, wr_run_memory(run));
  fprintf(out, ",%s", run->verdict.level == WR_VERIFY_OFF ? "no" : run->verdict.multiplied_right ? "yes" : "wrong");
}

/* saves_s is below 0 where the backend multiplies slower; pays_at is empty where it never pays. */
static void write_advice(FILE *out, const wr_spmv_table *t, int k) {
  const wr_run *run = &t->runs[k], *base = wr_apply_base(t->runs, t->count);
  wr_apply_standing standing = wr_apply_compare(run, base);
  fprintf(out, ",%s", t->by_model ? "model" : "times");
  if (t->solves == 0 || !standing.known) {
    fputs(",,,,", out);
    return;
  }
  write_real(out, wr_spmv_multiplies(t));
  write_real(out, base->apply_median - run->apply_median);
  fputc(',', out);
  if (run != base && standing.pays_at >= 0) fprintf(out, "%" PRId64, standing.pays_at);
  fprintf(out, ",%s", run == base ? "" : wr_apply_is_worth(run, base, wr_spmv_multiplies(t)) ? "yes" : "no");
}

void wr_spmv_csv_matrix(FILE *out, const wr_spmv_table *t) {
  char label[256];
  for (int k = 0; k < t->count; k++) {
    const wr_run *run = &t->runs[k];
    write_matrix(out, t->facts);
    fprintf(out, "%" PRId64 ",", wr_spmv_vectors(t));
    wr_csv_text(out, wr_run_label(run, label, sizeof label));
    fprintf(out, ",%s,", run->backend->place == WR_HOST ? "host" : "cuda");
    write_error(out, &run->error);
    if (run->ran)
      write_measurements(out, t, k), write_advice(out, t, k);
    else
      fputs(",,,,,,,,,,,,,,,", out);
    fputc('\n', out);
  }
}

void wr_spmv_csv_failure(FILE *out, const wr_problem_facts *facts, const wr_error *error) {
  write_matrix(out, facts);
  fputs(",,,", out);
  write_error(out, error);
  fputs(",,,,,,,,,,,,,,,\n", out);
}
