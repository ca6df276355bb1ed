// The part of onnxruntime-training-objc 1.19 that the program of a bundle uses: names and
// signatures.
#pragma once

#import <Foundation/Foundation.h>

typedef enum : int { ORTLoggingLevelError = 3 } ORTLoggingLevel;

typedef enum : int {
  ORTTensorElementDataTypeUndefined,
  ORTTensorElementDataTypeFloat,
  ORTTensorElementDataTypeInt8,
  ORTTensorElementDataTypeUInt8,
  ORTTensorElementDataTypeInt32,
  ORTTensorElementDataTypeUInt32,
  ORTTensorElementDataTypeInt64,
  ORTTensorElementDataTypeUInt64,
  ORTTensorElementDataTypeString,
} ORTTensorElementDataType;

@interface ORTEnv : NSObject
- (instancetype)initWithLoggingLevel:(ORTLoggingLevel)level error:(NSError **)error;
@end

@interface ORTSessionOptions : NSObject
- (instancetype)initWithError:(NSError **)error;
@end

@interface ORTValue : NSObject
- (instancetype)initWithTensorData:(NSMutableData *)data
                       elementType:(ORTTensorElementDataType)type
                             shape:(NSArray<NSNumber *> *)shape
                             error:(NSError **)error;
- (NSMutableData *)tensorDataWithError:(NSError **)error;
@end

@interface ORTCheckpoint : NSObject
- (instancetype)initWithPath:(NSString *)path error:(NSError **)error;
- (BOOL)saveCheckpointToPath:(NSString *)path
          withOptimizerState:(BOOL)includeOptimizerState
                       error:(NSError **)error;
@end

@interface ORTTrainingSession : NSObject
- (instancetype)initWithEnv:(ORTEnv *)env
             sessionOptions:(ORTSessionOptions *)options
                 checkpoint:(ORTCheckpoint *)checkpoint
             trainModelPath:(NSString *)trainModelPath
              evalModelPath:(NSString *)evalModelPath
         optimizerModelPath:(NSString *)optimizerModelPath
                      error:(NSError **)error;
- (NSArray<ORTValue *> *)trainStepWithInputValues:(NSArray<ORTValue *> *)inputs
                                            error:(NSError **)error;
- (NSArray<ORTValue *> *)evalStepWithInputValues:(NSArray<ORTValue *> *)inputs
                                           error:(NSError **)error;
- (BOOL)lazyResetGradWithError:(NSError **)error;
- (BOOL)optimizerStepWithError:(NSError **)error;
- (BOOL)setLearningRate:(float)learningRate error:(NSError **)error;
- (BOOL)exportModelForInferenceWithOutputPath:(NSString *)path
                             graphOutputNames:(NSArray<NSString *> *)names
                                        error:(NSError **)error;
@end
