package ai.onnxruntime;

public final class OrtEnvironment implements AutoCloseable {
  public static OrtEnvironment getEnvironment() {
    return null;
  }

  public OrtTrainingSession createTrainingSession(
      String checkpointPath, String trainPath, String evalPath, String optimizerPath)
      throws OrtException {
    throw new OrtException();
  }

  @Override
  public void close() {}
}
